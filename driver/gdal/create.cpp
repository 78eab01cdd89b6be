#include "create.h"
void zsAddCreation(GDALDriver &) {}

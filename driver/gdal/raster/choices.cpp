#include "choices.h"

extern "C"
{
#include "geo/choice.h"
}

std::string zsDimensionName(const struct zs_node *node, int dim)
{
    const char *name = zs_dimension_name(node, dim);
    bool isOnly = name != nullptr && name[0] != '\0';
    for (int d = 0; d < node->array->ndim && isOnly; d++)
    {
        const char *other = d != dim ? zs_dimension_name(node, d) : nullptr;
        isOnly = other == nullptr || strcmp(other, name) != 0;
    }
    return isOnly ? name : "dim" + std::to_string(dim);
}

/* Which of the dimensions but X and Y, counted from the slowest, has that name. */
static bool findDimension(const struct zs_node *node, const struct zs_axes &axes, const std::string &name, int &dim,
                          size_t &place, struct zs_error *err)
{
    std::string names;
    place = 0;
    for (dim = 0; dim < node->array->ndim; dim++)
    {
        const std::string own = zsDimensionName(node, dim);
        const bool isPlane = dim == axes.x || dim == axes.y;
        if (own == name && !isPlane)
            return true;
        if (own == name)
        {
            zs_fail(err, ZS_ARGUMENT, "array /%s: %s is its %s, of which a window is read", node->path, name.c_str(),
                    dim == axes.x ? "X" : "Y");
            return false;
        }
        place += isPlane ? 0 : 1;
        names += isPlane ? "" : (names.empty() ? "" : ", ") + own;
    }
    zs_fail(err, ZS_ARGUMENT, "array /%s: it has no dimension %s%s%s", node->path, name.c_str(),
            names.empty() ? "" : "; beside X and Y there are: ", names.c_str());
    return false;
}

/* "0..24", "2026-05-01..last" */
static enum zs_status chooseRange(const ZSStore &store, const struct zs_node *node, int dim, const std::string &text,
                                  size_t dots, struct zs_choice &choice, struct zs_error *err)
{
    const std::string from = text.substr(0, dots), to = text.substr(dots + 2);
    const std::string last = std::to_string(node->array->shape[dim] - 1);
    const std::string begin = from == "last" ? last : zsUnescapedWord(from),
                      end = to == "first" ? "0" : zsUnescapedWord(to);
    return zs_choose_range(store.hierarchy, node, dim, from == "first" ? nullptr : begin.c_str(),
                           to == "last" ? nullptr : end.c_str(), &choice, err);
}

static enum zs_status chooseOne(const ZSStore &store, const struct zs_node *node, int dim, const std::string &text,
                                struct zs_choice &choice, struct zs_error *err)
{
    const uint64_t size = node->array->shape[dim];
    const size_t dots = text.find("..");
    if (size == 0)
        return zs_fail(err, ZS_ARGUMENT, "a dimension of no elements gives no band");
    if (text == "first" || text == "last")
    {
        choice = {ZS_CHOICE_ONE, text == "first" ? 0 : size - 1, 1};
        return ZS_OK;
    }
    if (dots == std::string::npos)
        return zs_choose_value(store.hierarchy, node, dim, zsUnescapedWord(text).c_str(), &choice, err);
    return chooseRange(store, node, dim, text, dots, choice, err);
}

bool zsChoose(const ZSStore &store, const struct zs_node *node, const struct zs_axes &axes,
              const ZSConnection &connection, std::vector<struct zs_choice> &choices, struct zs_error *err)
{
    choices.clear();
    for (const uint64_t index : connection.indices)
        choices.push_back({ZS_CHOICE_ONE, index, 1});
    for (const auto &wanted : connection.named)
    {
        int dim = 0;
        size_t place = 0;
        if (!findDimension(node, axes, wanted.first, dim, place, err))
            return false;
        if (choices.size() <= place)
            choices.resize(place + 1, {ZS_CHOICE_ALL, 0, 0});
        struct zs_error reason;
        if (choices[place].kind != ZS_CHOICE_ALL)
            zs_fail(&reason, ZS_ARGUMENT, "%s is given twice", wanted.first.c_str());
        else if (chooseOne(store, node, dim, wanted.second, choices[place], &reason) == ZS_OK)
            continue;
        zs_fail(err, ZS_ARGUMENT, "array /%s: %s", node->path, reason.message);
        return false;
    }
    return true;
}

std::string zsChoicesText(const std::vector<struct zs_choice> &choices)
{
    std::string text;
    for (const auto &c : choices)
    {
        text += c.kind == ZS_CHOICE_ALL ? ":*" : ":" + std::to_string(c.first);
        text += c.kind == ZS_CHOICE_RANGE ? ".." + std::to_string(c.first + c.count - 1) : "";
    }
    return text;
}

std::string zsNamedChoice(const struct zs_node *node, int dim)
{
    return ":" + zsEscapedWord(zsDimensionName(node, dim)) + "=";
}

"""How a peer is asked for arrays and answers, in support.py's ask_peer().

DIR/arrays.json lists the arrays as [store, path in it]. The answer is DIR/PEER.json, a list of as many objects, each with the [numpy dtype, shape]
of its `values`, which are one array or more, or with the `error` for which there are none, and DIR/PEER.bin, the values one after another in C order.
"""
import json
import warnings

import numpy as np


def answer(folder, peer, read):
    """`read(store, path)` gives ([values, ...], further members of the answer)."""
    warnings.simplefilter("ignore")
    with open(folder + "/arrays.json") as file:
        asked = json.load(file)
    answers = []
    with open("%s/%s.bin" % (folder, peer), "wb") as file:
        for store, path in asked:
            try:
                values, more = read("%s/%s" % (folder, store), path)
                values = [np.asarray(array) for array in values]
                answers.append({"values": [[array.dtype.str, array.shape] for array in values], **more})
                file.writelines(array.tobytes() for array in values)
            except Exception as error:  # whatever it is, the test knows which are to be expected
                answers.append({"error": "%s: %s" % (type(error).__name__, error)})
    with open("%s/%s.json" % (folder, peer), "w") as file:
        json.dump(answers, file)

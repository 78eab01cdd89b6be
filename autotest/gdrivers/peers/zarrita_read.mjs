// Reads arrays with zarrita, for answers.py.
//
//     run zarrita_read.mjs DIR
import { open as openFile, readFile, writeFile } from "node:fs/promises";
import { FileSystemStore } from "@zarrita/storage";
import * as zarr from "zarrita";

const NUMPY = { int8: "|i1", int16: "<i2", int32: "<i4", int64: "<i8", uint8: "|u1", uint16: "<u2", uint32: "<u4", uint64: "<u8",
                float16: "<f2", float32: "<f4", float64: "<f8" };

// An index that is looked for in the wrong place says lengths on which node itself ends instead of an error.
class Store extends FileSystemStore {
    async getRange(key, range, options) {
        if (range.length > 2 ** 24) throw new RangeError(`${key}: a chunk of ${range.length} bytes`);
        return super.getRange(key, range, options);
    }
}

const [folder] = process.argv.slice(2);
const answers = [], values = await openFile(`${folder}/zarrita.bin`, "w");
for (const [store, path] of JSON.parse(await readFile(`${folder}/arrays.json`, "utf8"))) {
    try {
        const root = zarr.root(new Store(`${folder}/${store}`));
        const array = await zarr.open.v3(root.resolve(`/${path}`), { kind: "array" });
        const { data, shape } = await zarr.get(array);
        await values.appendFile(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
        answers.push({ values: [[NUMPY[array.dtype], shape]] });
    } catch (error) {
        answers.push({ error: `${error.name}: ${error.message}` });
    }
}
await values.close();
await writeFile(`${folder}/zarrita.json`, JSON.stringify(answers));

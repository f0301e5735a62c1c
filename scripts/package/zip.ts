/** Reads a zip as Lambda gets it. Of the format only what bundles need: no encryption, no zip64. */
import { inflateRawSync } from 'node:zlib';

const DIRECTORY_END = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const LOCAL_HEADER_SIZE = 30;

/** Its files by path. Offsets are those of PKWARE's APPNOTE.TXT. */
export function readZip(zip: Buffer): Map<string, Buffer> {
  const end = zip.lastIndexOf(Buffer.from(new Uint32Array([DIRECTORY_END]).buffer));
  if (end < 0) throw new Error('not a zip: it has no central directory');
  const files = new Map<string, Buffer>();
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    if (zip.readUInt32LE(at) !== DIRECTORY_ENTRY)
      throw new Error('the central directory of the zip is broken');
    const isDeflated = zip.readUInt16LE(at + 10) === 8;
    const size = zip.readUInt32LE(at + 20);
    const [name, extra, comment] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
    ];
    const header = zip.readUInt32LE(at + 42);
    const content =
      header + LOCAL_HEADER_SIZE + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28);
    const stored = zip.subarray(content, content + size);
    files.set(zip.toString('utf8', at + 46, at + 46 + name), isDeflated ? inflateRawSync(stored) : stored);
    at += 46 + name + extra + comment;
  }
  return files;
}

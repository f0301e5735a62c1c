/** What reading a value gave: the value in the program's own type, or what would have been accepted. */
export type Read<T> = { ok: true; value: T } | { ok: false; nearest?: string };

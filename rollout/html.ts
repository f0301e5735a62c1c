/** Pages of HTML in one file: a template that escapes, and the styles of every page. Pure. */

/** Text that is already HTML. Everything else is escaped where it is put into a page. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Piece = Html | string | number | null | readonly Piece[];

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escape(piece: Piece): string {
  if (piece instanceof Html) return piece.text;
  if (piece === null) return '–';
  if (typeof piece === 'string' || typeof piece === 'number') {
    return String(piece).replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');
  }
  return piece.map(escape).join('');
}

/** A template whose values are escaped. */
export function html(parts: TemplateStringsArray, ...values: Piece[]): Html {
  return new Html(
    parts.map((part, index) => part + (index < values.length ? escape(values[index] ?? null) : '')).join(''),
  );
}

export const nothing = html``;

/** Of every page: on a screen, in the dark, and in print. */
export const styles = new Html(`
  :root { color-scheme: light dark; }
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.5rem; margin-bottom: 0; }
  h2 { font-size: 1.1rem; margin: 2rem 0 0.5rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid #8884; }
  td { overflow-wrap: anywhere; }
  th { font-weight: 600; }
  .outcome { display: inline-block; padding: 0 0.6rem; border: 1px solid currentColor; border-radius: 1rem; }
  .good { color: #18794e; }
  .bad { color: #b3261e; }
  .quiet { color: #777; }
  @media (prefers-color-scheme: dark) { .good { color: #4cc38a; } .bad { color: #ff8b82; } }
  @media print {
    :root { color-scheme: light; }
    body { font-size: 10pt; margin: 0; max-width: none; }
    h2 { break-after: avoid; }
    tr { break-inside: avoid; }
    thead { display: table-header-group; }
  }
`);

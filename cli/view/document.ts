/** A text in parts that a terminal, Markdown and HTML show each in their own way. */
import { html, nothing, styles, type Html, type Piece } from '../../rollout/html.ts';
import { bold, notable } from './style.ts';
import { renderTable } from './table.ts';

export type Block =
  | { kind: 'heading'; text: string }
  /** `notable` is what nobody is to overlook. */
  | { kind: 'text'; text: string; notable?: boolean }
  | { kind: 'list'; items: readonly string[]; notable?: boolean }
  | { kind: 'table'; titles: readonly string[]; rows: readonly (readonly string[])[] }
  /** To be typed. */
  | { kind: 'command'; text: string };

export interface Document {
  title: string;
  blocks: readonly Block[];
}

/** For a terminal. */
export const terminalText = ({ title, blocks }: Document): string =>
  [bold(title), ...blocks.map(inTerminal)].join('\n');

function inTerminal(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `\n${bold(block.text)}`;
    case 'text':
      return block.notable ? notable(block.text) : block.text;
    case 'list':
      return block.items.map((item) => (block.notable ? notable(`- ${item}`) : `- ${item}`)).join('\n');
    case 'table':
      return renderTable(
        block.titles.map((each) => each.toUpperCase()),
        block.rows,
      );
    case 'command':
      return `  $ ${block.text}`;
  }
}

/** For a ticket that takes Markdown. */
export const markdownText = ({ title, blocks }: Document): string =>
  [`# ${inLine(title)}`, ...blocks.map(inMarkdown)].join('\n\n');

function inMarkdown(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `## ${inLine(block.text)}`;
    case 'text':
      return block.notable ? `**${inLine(block.text)}**` : inLine(block.text);
    case 'list':
      return block.items.map((item) => `- ${inLine(item)}`).join('\n');
    case 'table':
      return [block.titles, block.titles.map(() => '---'), ...block.rows]
        .map((cells) => `| ${cells.map(inCell).join(' | ')} |`)
        .join('\n');
    case 'command':
      return `\`\`\`console\n$ ${block.text}\n\`\`\``;
  }
}

/** Names come from clusters: none of them may become markup. */
const inLine = (text: string): string =>
  text.replaceAll(/[\\`*_<>[\]#|~]/g, (character) => `\\${character}`).replaceAll(/\s*\n\s*/g, ' ');

const inCell = (text: string): string => inLine(text === '' ? '–' : text);

/** A page of its own. */
export const htmlText = ({ title, blocks }: Document): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <style>
          ${styles}
        </style>
      </head>
      <body>
        <h1>${title}</h1>
        ${blocks.map(inHtml)}
      </body>
    </html>`.text;

function inHtml(block: Block): Html {
  switch (block.kind) {
    case 'heading':
      return html`<h2>${block.text}</h2>`;
    case 'text':
      return html`<p>${marked(block.text, block.notable)}</p>`;
    case 'list':
      return html`<ul>
        ${block.items.map((item) => html`<li>${marked(item, block.notable)}</li>`)}
      </ul>`;
    case 'table':
      return html`<table>
        <thead>
          <tr>
            ${block.titles.map((title) => html`<th>${title}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${block.rows.map(
            (row) =>
              html`<tr>
                ${row.map((cell) => html`<td>${cell}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>`;
    case 'command':
      return html`<pre>$ ${block.text}</pre>`;
  }
}

const marked = (text: Piece, isNotable = false): Html =>
  isNotable ? html`<strong class="bad">${text}</strong>` : html`${text}${nothing}`;

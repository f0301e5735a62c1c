/** Tables without borders, as kubectl prints them. */
import { Table } from 'console-table-printer';
import { bold } from './style.ts';

const nothing = { left: '', mid: '', right: '', other: '' };

/** Rows are given in the order of the titles. An empty table is its titles. */
export function renderTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    columns: titles.map((title) => ({ name: title, title: bold(title), alignment: 'left' as const })),
    style: {
      headerTop: nothing,
      headerBottom: nothing,
      tableBottom: nothing,
      vertical: '',
    },
    shouldDisableColors: true,
  });
  for (const row of rows) {
    table.addRow(Object.fromEntries(titles.map((title, index) => [title, row[index] ?? ''])));
  }
  return table
    .render()
    .split('\n')
    .map((line) => line.trimEnd().replace(/^ /, ''))
    .filter((line) => line !== '')
    .join('\n');
}

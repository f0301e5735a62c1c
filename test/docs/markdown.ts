/** The Markdown files of the repository, taken apart as far as their tests need it. */
import { globSync, readFileSync } from 'node:fs';

export const files = globSync(['*.md', 'docs/**/*.md']).sort();

export const read = (file: string): string => readFileSync(file, 'utf8');

/** Without fenced code, in which nothing is a link or a heading. */
const prose = (text: string): string => text.replaceAll(/^```[\s\S]*?^```$/gm, '');

export const links = (text: string): string[] =>
  [...prose(text).matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? '');

/** The anchors that GitHub gives to headings. */
export const anchors = (text: string): string[] =>
  [...prose(text).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    (heading ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Lines of fenced code as a reader would type them: without prompt, comment and output. */
export function typedLines(text: string): string[] {
  return [...text.matchAll(/^```(sh|console)\n([\s\S]*?)^```$/gm)].flatMap(([, language, body = '']) =>
    body
      .split('\n')
      .filter((line) => language === 'sh' || line.startsWith('$ '))
      .map((line) => line.replace(/^\$ /, '').replace(/\s+#.*$/, '')),
  );
}

/** Commands that are named in running text. */
export const inlineCommands = (text: string): string[] =>
  [...prose(text).matchAll(/`((?:npm|npx|imds-rollout) [^`]+)`/g)].map(([, command]) => command ?? '');

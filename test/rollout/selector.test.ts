/** Label selectors, held against what k8s.io/apimachinery/pkg/labels takes (its own table of good and bad strings too). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSelector } from '../../rollout/selector.ts';

type Labels = Record<string, string>;

function selects(text: string, labels: Labels): boolean {
  const read = parseSelector(text);
  if (!read.ok) throw new Error(`${text} is refused`);
  return read.value(labels);
}

describe('what is accepted, and what it selects', () => {
  it.each<[string, Labels[], Labels[]]>([
    ['a=b', [{ a: 'b' }, { a: 'b', c: 'd' }], [{}, { a: 'c' }, { b: 'a' }, { a: 'B' }]],
    ['a==b', [{ a: 'b' }], [{ a: 'c' }]],
    ['a = b', [{ a: 'b' }], [{ a: 'c' }]],
    ['a!=b', [{}, { a: 'c' }], [{ a: 'b' }]],
    ['a=', [{ a: '' }], [{}, { a: 'b' }]],
    ['a= ', [{ a: '' }], [{}]],
    ['a=,z= ', [{ a: '', z: '' }], [{ a: '' }]],
    ['a', [{ a: '' }, { a: 'b' }], [{}, { b: 'a' }]],
    ['!a', [{}, { b: 'a' }], [{ a: '' }]],
    ['! a', [{}], [{ a: '' }]],
    ['a in (b,c)', [{ a: 'b' }, { a: 'c' }], [{}, { a: 'd' }, { a: 'b,c' }]],
    ['a in ( b , c )', [{ a: 'b' }, { a: 'c' }], [{ a: ' b' }]],
    ['a in(b)', [{ a: 'b' }], [{ a: 'c' }]],
    ['a in (b,,c)', [{ a: '' }, { a: 'b' }], [{}]],
    ['a in ()', [{ a: '' }], [{}, { a: 'b' }]],
    ['a notin ( )', [{}, { a: 'b' }], [{ a: '' }]],
    ['a in (,)', [{ a: '' }], [{}, { a: 'b' }]],
    ['a notin (b,c)', [{}, { a: 'd' }], [{ a: 'b' }, { a: 'c' }]],
    ['a notin(b)', [{}], [{ a: 'b' }]],
    ['a=b,c!=d', [{ a: 'b' }, { a: 'b', c: 'e' }], [{ a: 'b', c: 'd' }, {}]],
    ['a in (b,c),d', [{ a: 'c', d: '' }], [{ a: 'c' }, { d: '' }]],
    [
      'a in (b),c notin (d,e),!f',
      [{ a: 'b' }, { a: 'b', c: 'x' }],
      [
        { a: 'b', f: '' },
        { a: 'b', c: 'e' },
      ],
    ],
    [' a = b , c ', [{ a: 'b', c: '' }], [{ a: 'b' }]],
    ['app.kubernetes.io/name=web', [{ 'app.kubernetes.io/name': 'web' }], [{}]],
    ['type=process,service in (build)', [{ type: 'process', service: 'build' }], [{ type: 'process' }]],
    ['a=b,a!=b', [], [{}, { a: 'b' }, { a: 'c' }]],
    ['in in (in,notin)', [{ in: 'notin' }], [{}]],
    ['constructor', [{ constructor: 'x' }], [{}]],
    ['!constructor', [{}], [{ constructor: 'x' }]],
    ['toString notin (x)', [{}], [{ toString: 'x' }]],
  ])('%s', (text, selected, others) => {
    for (const labels of selected) expect(selects(text, labels), JSON.stringify(labels)).toBe(true);
    for (const labels of others) expect(selects(text, labels), JSON.stringify(labels)).toBe(false);
  });
});

describe('what is refused as a whole', () => {
  it.each([
    '',
    ' ',
    ',',
    'a,',
    ',a',
    'a=b,',
    'a=b,,c=d',
    'x=a||y=b',
    'x==a==b',
    '!x=a',
    '!!x',
    'x<a',
    'a===b',
    'a=b c',
    'a b',
    'a in',
    'a in b',
    'a>1',
    'a in (b',
    'a in b)',
    'a in (b c)',
    'a in ((b))',
    'a notin',
    'a not in (b)',
    'a IN (b)',
    '(a=b)',
    '-a=b',
    'a-=b',
    'a=-b',
    'a=b-',
    'a=b/c',
    'a/b/c=d',
    '/a=b',
    'a/=b',
    '-a/b=c',
    'a..b/c=d',
    'UPPER.io/a=b',
    'a={b}',
    '"a"=b',
    `${'a'.repeat(64)}=b`,
    `a=${'b'.repeat(64)}`,
    `${'a.'.repeat(127)}aa/b=c`,
  ])('%s', (text) => {
    expect(parseSelector(text).ok).toBe(false);
  });

  it('one bad requirement refuses the good ones with it', () => {
    expect(parseSelector('a=b,c in (d),e f')).toEqual({ ok: false });
  });
});

const name = fc.stringMatching(/^[a-z]([a-z0-9._-]{0,8}[a-z0-9])?$/);
const key = fc.oneof(
  name,
  fc
    .tuple(fc.stringMatching(/^[a-z]{1,5}(\.[a-z]{1,5}){0,2}$/), name)
    .map(([prefix, own]) => `${prefix}/${own}`),
);
const value = fc.oneof(fc.constant(''), name);
const space = fc.stringMatching(/^[ \t]{0,2}$/);
const labels = fc.dictionary(key, value, { maxKeys: 4, noNullPrototype: true });

describe('for any key, value and labels', () => {
  it('= and != are opposites, so are in and notin, so are a key and its absence', () => {
    fc.assert(
      fc.property(key, fc.array(value, { minLength: 1, maxLength: 3 }), labels, (k, values, l) => {
        const [first = ''] = values;
        expect(selects(`${k}=${first}`, l)).toBe(!selects(`${k}!=${first}`, l));
        const list = `(${values.join(',')})`;
        expect(selects(`${k} in ${list}`, l)).toBe(!selects(`${k} notin ${list}`, l));
        expect(selects(k, l)).toBe(!selects(`!${k}`, l));
      }),
    );
  });

  it('a set is any of its values, a comma is and', () => {
    fc.assert(
      fc.property(key, fc.array(value, { minLength: 1, maxLength: 3 }), labels, (k, values, l) => {
        expect(selects(`${k} in (${values.join(',')})`, l)).toBe(values.some((v) => selects(`${k}=${v}`, l)));
        expect(selects(values.map((v) => `${k}!=${v}`).join(','), l)).toBe(
          selects(`${k} notin (${values.join(',')})`, l),
        );
      }),
    );
  });

  it('selects what says exactly so, however it is spaced', () => {
    fc.assert(
      fc.property(key, value, space, space, space, (k, v, one, two, three) => {
        expect(selects(`${one}${k}${two}=${three}${v}${one}`, { [k]: v })).toBe(true);
        expect(selects(`${k} in${one}(${two}${v}${three})`, { [k]: v })).toBe(true);
      }),
    );
  });

  it('never throws, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('a', 'b', '=', '!', ',', '(', ')', ' ', '\t', '-', '.', '/', 'in', 'notin'),
          maxLength: 200,
        }),
        (text) => {
          parseSelector(text);
        },
      ),
    );
  });
});

import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** File names in kebab-case, and no barrel files: an index.ts drags every client into every bundle. */
const fileName = {
  create: (context) => ({
    Program(node) {
      const name = (context.filename.split(/[\\/]/).at(-1) ?? '').replace(/^\./, '');
      if (/^index\.[cm]?ts$/.test(name)) {
        context.report({ node, message: 'No barrel files: import from the file that defines the name.' });
      } else if (!/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*$/.test(name)) {
        context.report({ node, message: `File names are kebab-case; '${name}' is not.` });
      }
    },
  }),
};

export default defineConfig(
  globalIgnores(['out/', 'coverage/', '.cache/', '.serverless/', '.esbuild/']),
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: { project: { rules: { 'file-name': fileName } } },
    rules: {
      'project/file-name': 'error',
      'max-lines': ['error', 350],
      eqeqeq: 'error',
      'no-restricted-syntax': [
        'error',
        { selector: 'TSEnumDeclaration', message: 'No enums: use a union of string literals.' },
      ],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      // Numbers in messages are what messages are for.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  {
    // Ports are asynchronous; in memory, nothing needs to be awaited.
    files: ['simulator/**', 'test/**'],
    rules: { '@typescript-eslint/require-await': 'off' },
  },
  {
    files: ['**/*.{js,cjs,mjs}'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      globals: { console: 'readonly', module: 'writable', process: 'readonly', URL: 'readonly' },
    },
  },
);

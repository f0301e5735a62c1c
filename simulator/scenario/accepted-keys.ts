/** Which keys and words a schema accepts at a path, so that a message about a wrong one can name them. */
import { z } from 'zod';
import type { Path } from './check.ts';

/** The keys of the object at the path; empty where any key is accepted or no object stands there. */
export function acceptedKeys(schema: z.ZodType, path: Path): string[] {
  const objects = schemasAt(unwrap(schema), path).filter((found) => found instanceof z.ZodObject);
  return objects.flatMap((object) => Object.keys(object.shape as Record<string, unknown>));
}

/** The words of the enumeration at the path; empty where anything else may stand there as well. */
export function acceptedWords(schema: z.ZodType, path: Path): string[] {
  const found = schemasAt(unwrap(schema), path);
  return found.every((each) => each instanceof z.ZodEnum)
    ? found.flatMap(({ options }) => options.map(String))
    : [];
}

function schemasAt(schema: z.ZodType, path: Path): z.ZodType[] {
  if (schema instanceof z.ZodUnion) {
    return schema.options.flatMap((option) => schemasAt(unwrap(option as z.ZodType), path));
  }
  const [key, ...rest] = path;
  if (key === undefined) return [schema];
  const next = childOf(schema, key);
  return next ? schemasAt(unwrap(next), rest) : [];
}

function childOf(schema: z.ZodType, key: string | number): z.ZodType | undefined {
  if (schema instanceof z.ZodObject) return (schema.shape as Record<string, z.ZodType>)[key];
  if (schema instanceof z.ZodArray) return schema.element as z.ZodType;
  if (schema instanceof z.ZodRecord) return schema.valueType as z.ZodType;
  return undefined;
}

/** Without optional, nullable, defaults and transforms around it. */
function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodPipe) return unwrap(schema.in as z.ZodType);
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodExactOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  ) {
    return unwrap(schema.unwrap() as z.ZodType);
  }
  return schema;
}

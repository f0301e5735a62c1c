// asl-validator ships no types.
declare module 'asl-validator' {
  function validate(definition: unknown): { isValid: boolean; errorsText: (separator?: string) => string };
  export = validate;
}

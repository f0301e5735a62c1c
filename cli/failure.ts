/** A command that cannot do what it was asked for: the message goes to standard error, without a stack. */
export class CommandFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CommandFailure';
  }
}

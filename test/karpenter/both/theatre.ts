/** A world in which scenarios are played, by a product of their own. */
import type { SteeredProduct } from '../product.ts';
import type { World } from '../world.ts';

export interface Theatre extends World {
  product: SteeredProduct;
}

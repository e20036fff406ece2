/** Games and agents of asobiba as WebAssembly: the same bytes as in Python for the same seeds and actions. */

/** A value of a game's parameter, as JSON. */
export type ParameterValue = boolean | number | string | null | ParameterValue[];
export type Parameters = Record<string, ParameterValue>;
/** A discrete action, or the numbers of a continuous one; in joint games a row a seat, one after another. */
export type Action = number | bigint | ArrayLike<number | bigint>;
/** A seed: any integer; its 64 lowest bits count. */
export type Seed = number | bigint;
export type Numbers =
  | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array
  | Float32Array | Float64Array;

/** Base of the errors that are thrown on purpose; `name` is the class. */
export class AsobibaError extends Error {}
/** There is no game in that place. */
export class UnknownGame extends AsobibaError {}
/** No agent of that name is in the module; the message says why. */
export class UnknownAgent extends AsobibaError {}
/** A parameter that the game does not have, values that were not written, or a seat that does not exist. */
export class GameParameterError extends AsobibaError {}
/** An action that the rules forbid in this position, or that has another form. */
export class IllegalAction extends AsobibaError {}
/** Bytes that are no state of this game. */
export class StateBytesError extends AsobibaError {}
/** A match whose actions do not lead to what it says. */
export class ReplayError extends AsobibaError {}
/** A module that is damaged, or of another format. */
export class ModuleError extends AsobibaError {}

/** What an agent is, as its declaration in Python says. */
export interface AgentAbout {
  description: string;
  source: string;
  deterministic: boolean;
}

/** A match of a league, as `asobiba replay GAME NUMBER -o match.json` writes it. */
export interface Match {
  game: string;
  version: number;
  parameters: Parameters;
  seats?: string[];
  /** Of the game's chance. */
  seed: number | string;
  /** Of each agent: what `Agent.begin` was given. */
  agentSeeds?: string[];
  /** The actions' bytes, or these in base 64. */
  actions: string | ArrayLike<number>;
  /** 16 hexadecimal digits of the final state. */
  digest: string;
  returns?: number[];
  reason?: string;
  culprit?: number | null;
}

/** Reads the game in a folder: a URL, or a function from a file's name to its bytes. */
export function open(place: string | URL | ((name: string) => Promise<Uint8Array>)): Promise<Game>;
/** Reads one of the games in this package, by name. */
export function openGame(name: string): Promise<Game>;

export class Game {
  readonly name: string;
  readonly version: number;
  readonly title: string;
  /** The parameter sets that were written. */
  readonly variants: { name: string; parameters: Parameters }[];
  readonly agents: Record<string, AgentAbout>;
  /** The game with these parameters (others have their defaults), or the variant of this name. */
  make(parameters?: Parameters | string): Promise<Ruleset>;
}

/** A position. Nothing changes it: `Ruleset.step` makes another. */
export class State {
  readonly rules: Ruleset;
  /** The record, byte for byte that of Python. */
  readonly bytes: Uint8Array;
  /** A field of the record: a number, or an array of its values in order. */
  get(field: string): number | bigint | Numbers;
  readonly over: boolean;
  /** The player to act; -1 where several act at once. */
  readonly toMove: number;
  readonly steps: number;
  /** Each player's reward for the last step. */
  readonly rewards: number[];
  readonly endReason: "running" | "rules" | "illegal action" | "truncation";
  /** The seats that act now; nobody when the game is over. */
  readonly actors: number[];
}

/** A game with its parameters chosen. */
export class Ruleset {
  readonly game: Game;
  readonly parameters: Parameters;
  readonly players: string[];
  readonly agents: string[];
  /** Whether several players may act in one step. */
  readonly joint: boolean;
  readonly discrete: boolean;
  readonly numActions: number;
  /** Bounds of continuous actions, or null. */
  readonly box: { low: number[]; high: number[] } | null;
  readonly maxSteps: number;
  /** A starting position. */
  newState(seed: Seed): State;
  /** 1 for each legal action of who is to move; in joint games of `seat`, or a row a seat. */
  mask(state: State, seat?: number): Int8Array;
  legalActions(state: State, seat?: number): number[];
  /** The state after an action. `strict: false`: what the rules forbid is treated as in Python's environments. */
  step(state: State, action: Action, options?: { strict?: boolean }): State;
  /** What a seat observes: one flat array. */
  observation(state: State, seat: number): Numbers;
  /** An observation by named channels. */
  channels(observation: Numbers): Record<string, Numbers>;
  /** The state as a seat may see it. */
  view(state: State, seat: number): State;
  /** A full state that agrees with what a seat knows. */
  resample(view: State, seat: number, seed: Seed): State;
  /** 16 hexadecimal digits of a state's bytes, as leagues keep them. */
  digest(state: State): string;
  /** A state as the bytes that `asobiba.core.states.state_bytes` writes. */
  toBytes(state: State): Uint8Array;
  fromBytes(bytes: ArrayLike<number>): State;
  /** The state itself, if the rules can have produced it. */
  valid(state: State): State;
  /** A compiled agent; `random` is always there. */
  agent(name?: string): Agent;
  /** The seed of the agent at a seat of a match that has no other seeds than this one. */
  agentSeed(seed: Seed, seat: number): bigint;
  /** Plays a match again, position by position; throws `ReplayError` where it is not what is on record. */
  positions(match: Match): Generator<{ state: State; action: number[] | null }>;
  replay(match: Match): { state: State; action: number[] | null }[];
  /** Arrays for many games in the module's memory, for tests and benchmarks. */
  batch(count: number): Batch;
}

/** A compiled agent at one seat of one game. */
export class Agent {
  readonly name: string;
  readonly seat: number | null;
  /** A game begins: memory afresh, chance from this seed. */
  begin(seat: number, seed: Seed): void;
  /** The answer in this state; the agent is shown its seat's view. */
  act(state: State): number | number[];
}

/** Arrays for many games; views of the module's memory, which growth of it makes stale: take them anew. */
export class Batch {
  readonly count: number;
  readonly states: Uint8Array;
  readonly masks: Int8Array;
  readonly actions: Numbers;
  readonly players: BigInt64Array;
  readonly observations: Numbers;
  readonly samplers: Uint8Array;
  readonly found: Uint8Array;
  new(seed: Seed): void;
  seedStates(seed: Seed): void;
  seedSamplers(seed: Seed): void;
  reset(): void;
  legal(): void;
  sample(): void;
  step(): void;
  observe(): void;
  hide(): void;
  resample(): void;
  valid(): void;
}

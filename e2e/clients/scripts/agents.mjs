// The OpenAI Agents SDK in chat-completions mode.
import assert from 'node:assert/strict';
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { answered, apiKey, baseURL, failing, large, pictureURL, pixel, run, small, talk, tooLong, unknown } from './cases.mjs';

setTracingDisabled(true);

// runner is one in chat-completions mode, with a client of its own.
const runner = (more) => new Runner({ modelProvider: new OpenAIProvider({ openAIClient: new OpenAI({ baseURL, apiKey, ...more }), useResponses: false }) });
const agent = (more = {}) => new Agent({ name: 'Harbour master', instructions: 'You know harbours.', model: large, ...more });
const tide = tool({ name: 'tide', description: 'The tide at a harbour', parameters: z.object({ harbour: z.string() }), execute: async ({ harbour }) => `${harbour} high` });
const bothTides = 'The results are call_rostock=Rostock high and call_bergen=Bergen high.';

async function ask(name, more) {
  return runner({ maxRetries: 2 }).run(agent(more), `@${name}`);
}

async function refused(Kind, input, expected, more) {
  const error = await failing(() => runner({ maxRetries: 0 }).run(agent(more), input));
  assert.ok(error instanceof Kind, `${error?.constructor?.name}: ${error}`);
  for (const [name, value] of Object.entries(expected)) assert.equal(error[name], value, name);
  const { status, code, type, param } = error;
  return { said: `${Kind.name} ${code ?? ''}`.trim(), seen: { status, code, type, param } };
}

// streamed reads the text and the kinds of all events.
async function streamed(name, more, options = {}) {
  const result = await runner({ maxRetries: 2 }).run(agent(more), name, { stream: true, ...options });
  const kinds = [];
  let text = '';
  for await (const event of result) {
    if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') {
      text += event.data.delta;
      options.onText?.(text);
    }
    if (kinds.at(-1) !== event.type) kinds.push(event.type);
  }
  return { result, text, kinds };
}

const usageOf = (result) => result.rawResponses.map(({ usage }) => [usage.inputTokens, usage.outputTokens, usage.totalTokens]);

await run({
  plain: async (name) => {
    const got = await ask(name);
    return answered(got.finalOutput, { usage: usageOf(got) });
  },
  stream: async (name) => {
    const { result, text, kinds } = await streamed(`@${name}`);
    await result.completed;
    assert.equal(usageOf(result)[0][1], 9);
    return answered(text, { kinds, usage: usageOf(result) });
  },
  tools: async (name) => {
    const got = await ask(name, { tools: [tide] });
    assert.equal(got.finalOutput, bothTides);
    return { said: 'two calls, answer', seen: { history: got.history } };
  },
  'tools-stream': async () => {
    const { result, kinds } = await streamed('@tools', { tools: [tide] });
    await result.completed;
    assert.equal(result.finalOutput, bothTides);
    return { said: 'two calls, answer', seen: { kinds, output: result.finalOutput } };
  },
  schema: async (name) => {
    const { finalOutput } = await ask(name, { outputType: z.object({ harbour: z.string(), berths: z.number() }) });
    assert.deepEqual(finalOutput, { harbour: 'Rostock', berths: 7 });
    return { said: 'parsed object', seen: finalOutput };
  },
  image: async (name) => {
    const content = [{ type: 'input_text', text: `@${name}` }, { type: 'input_image', image: pixel }, { type: 'input_image', image: pictureURL }];
    const { finalOutput } = await runner().run(agent(), [{ role: 'user', content }]);
    assert.equal(finalOutput, `I see data of ${pixel.length} bytes and https of ${pictureURL.length} bytes.`);
    return { said: 'both images seen', seen: finalOutput };
  },
  reasoning: async (name) => {
    const got = await ask(name, { modelSettings: { reasoning: { effort: 'low' } } });
    const item = got.newItems.find((i) => i.type === 'reasoning_item');
    assert.equal(item.rawItem.rawContent[0].text, 'First I thought about it.');
    return answered(got.finalOutput, { reasoning: item.rawItem.rawContent });
  },
  cancel: async (name) => {
    const controller = new AbortController();
    let last = '';
    const onText = (text) => {
      last = text;
      if (text === 'one two ') controller.abort();
    };
    const outcome = await streamed(`@${name}`, {}, { signal: controller.signal, onText }).then(() => 'ended', (error) => error.name);
    assert.equal(last, 'one two ');
    return { said: 'left in mid-stream', seen: { last, outcome } };
  },
  timeout: async (name) => {
    const error = await failing(() => runner({ maxRetries: 0, timeout: 1000 }).run(agent(), `@${name}`));
    assert.ok(error instanceof OpenAI.APIConnectionTimeoutError, String(error));
    return { said: 'APIConnectionTimeoutError', seen: error.message };
  },
  'retry-429': async (name) => answered((await ask(name)).finalOutput),
  'retry-500': async (name) => answered((await ask(name)).finalOutput),
  'retry-reset': async (name) => answered((await ask(name)).finalOutput),
  'error-401': (name) => refused(OpenAI.AuthenticationError, `@${name}`, { status: 401, code: 'invalid_api_key' }),
  'error-404': (name) => refused(OpenAI.NotFoundError, `@${name}`, { status: 404, code: 'model_not_found' }),
  'error-429': (name) => refused(OpenAI.RateLimitError, `@${name}`, { status: 429, code: 'rate_limit_exceeded' }),
  'error-400': (name) => refused(OpenAI.BadRequestError, `@${name}`, { status: 400, code: 'invalid_value', param: 'temperature' }),
  'error-reset': async (name) => {
    const error = await failing(() => runner({ maxRetries: 0 }).run(agent(), `@${name}`));
    assert.ok(error instanceof OpenAI.APIError, String(error));
    return { said: `${error.constructor.name} ${error.code ?? ''}`.trim(), seen: {} };
  },
  unfit: tooMuch,
  'unfit-far': tooMuch,
  fold: (name) => folding(small, name, false),
  'fold-stream': (name) => folding(small, name, true),
  'fold-unknown': (name) => folding(unknown, name, false),
});

function tooMuch(name) {
  return refused(OpenAI.BadRequestError, tooLong(name), { status: 400, code: 'context_length_exceeded', type: 'invalid_request_error', param: 'messages' }, { model: small });
}

async function folding(model, scenario, stream) {
  const [, ...messages] = talk(scenario);
  const input = messages.map((m) => (m.role === 'user' ? m : { role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: m.content }] }));
  try {
    const got = await runner({ maxRetries: 0 }).run(agent({ model }), input, { stream });
    if (stream) await got.completed;
    assert.equal(got.finalOutput, 'Hello from the model.');
    return { said: 'answer', seen: {} };
  } catch (error) {
    assert.equal(error.code, 'context_length_exceeded', String(error));
    assert.ok(error instanceof OpenAI.BadRequestError);
    return { said: 'BadRequestError context_length_exceeded', seen: {} };
  }
}

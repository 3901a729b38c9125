// The Vercel AI SDK with its OpenAI provider in chat mode, or with its provider
// for compatible servers, as the first argument says.
import assert from 'node:assert/strict';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, Output, RetryError, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { answered, apiKey, baseURL, failing, large, pictureURL, pixel, run, small, talk, tooLong, unknown } from './cases.mjs';

const compatible = process.argv[2] === 'compatible';
const provider = compatible
  ? createOpenAICompatible({ name: 'compatible', baseURL, apiKey, includeUsage: true, supportsStructuredOutputs: true, supportedUrls: () => ({ 'image/*': [/^https:/] }) })
  : createOpenAI({ baseURL, apiKey });
const model = (name) => (compatible ? provider.chatModel(name) : provider.chat(name));

const ask = (name) => ({ model: model(large), prompt: `@${name}`, maxRetries: 2 });
const bare = (name) => ({ ...ask(name), maxRetries: 0 });
const quiet = { onError: () => {} }; // the error comes out of the stream as well
const tide = tool({ description: 'The tide at a harbour', inputSchema: z.object({ harbour: z.string() }), execute: async ({ harbour }) => `${harbour} high` });
const bothTides = 'The results are call_rostock=Rostock high and call_bergen=Bergen high.';

// own is what the gateway has no part in: the answer's time stamp is the server's.
const seenOf = ({ text, usage, finishReason, response }) => ({ text, usage, finishReason, id: response?.id, model: response?.modelId });

async function refused(options, expected) {
  const error = await failing(() => generateText(options));
  assert.ok(APICallError.isInstance(error), String(error));
  const body = JSON.parse(error.responseBody).error;
  for (const [name, value] of Object.entries(expected)) assert.equal(name === 'status' ? error.statusCode : body[name], value, name);
  return { said: `APICallError ${error.statusCode} ${body.code ?? ''}`.trim(), seen: { body, retryable: error.isRetryable, message: error.message } };
}

// streamed reads all parts of a stream.
async function streamed(options) {
  const result = streamText({ ...options, ...quiet });
  const kinds = [];
  let text = '', error, usage;
  for await (const part of result.fullStream) {
    if (kinds.at(-1) !== part.type) kinds.push(part.type);
    if (part.type === 'text-delta') text += part.text;
    if (part.type === 'finish') usage = part.totalUsage;
    if (part.type === 'error') error = part.error;
  }
  return { text, kinds, usage, error, result };
}

const cases = {
  plain: async (name) => {
    const got = await generateText(ask(name));
    return answered(got.text, seenOf(got), got.response.headers);
  },
  stream: async (name) => {
    const { text, kinds, usage } = await streamed(ask(name));
    assert.equal(usage.outputTokens, 9);
    return answered(text, { kinds, usage });
  },
  tools: async (name) => {
    const got = await generateText({ ...ask(name), tools: { tide }, stopWhen: stepCountIs(3) });
    assert.equal(got.text, bothTides);
    assert.equal(got.steps[0].toolCalls.length, 2);
    return { said: 'two calls, answer', seen: seenOf(got) };
  },
  'tools-stream': async () => {
    const { text, kinds, result } = await streamed({ ...ask('tools'), tools: { tide }, stopWhen: stepCountIs(3) });
    assert.equal(text, bothTides);
    assert.deepEqual((await result.steps)[0].toolCalls.map((c) => c.input.harbour), ['Rostock', 'Bergen']);
    return { said: 'two calls, answer', seen: { text, kinds } };
  },
  schema: async (name) => {
    const { output } = await generateText({ ...ask(name), output: Output.object({ schema: z.object({ harbour: z.string(), berths: z.number() }) }) });
    assert.deepEqual(output, { harbour: 'Rostock', berths: 7 });
    return { said: 'parsed object', seen: output };
  },
  image: async (name) => {
    const content = [{ type: 'text', text: `@${name}` }, { type: 'image', image: pixel }, { type: 'image', image: new URL(pictureURL) }];
    const { text } = await generateText({ model: model(large), messages: [{ role: 'user', content }] });
    assert.equal(text, `I see data of ${pixel.length} bytes and https of ${pictureURL.length} bytes.`);
    return { said: 'both images seen', seen: text };
  },
  cancel: async (name) => {
    const controller = new AbortController();
    const { fullStream } = streamText({ ...ask(name), ...quiet, abortSignal: controller.signal });
    let text = '', aborted = false;
    for await (const part of fullStream) {
      if (part.type === 'text-delta') text += part.text;
      if (part.type === 'abort') aborted = true;
      if (text === 'one two ') controller.abort();
    }
    assert.ok(aborted);
    return { said: 'left in mid-stream', seen: text };
  },
  timeout: async (name) => {
    const error = await failing(() => generateText({ ...bare(name), abortSignal: AbortSignal.timeout(1000) }));
    assert.equal(error.name, 'TimeoutError', String(error));
    return { said: 'TimeoutError', seen: {} };
  },
  'retry-429': async (name) => answered((await generateText(ask(name))).text),
  'retry-500': async (name) => answered((await generateText(ask(name))).text),
  'retry-reset': async (name) => answered((await generateText(ask(name))).text),
  'error-401': (name) => refused(bare(name), { status: 401, code: 'invalid_api_key' }),
  'error-404': (name) => refused(bare(name), { status: 404, code: 'model_not_found', param: 'model' }),
  'error-429': (name) => refused(bare(name), { status: 429, code: 'rate_limit_exceeded' }),
  'error-400': (name) => refused(bare(name), { status: 400, code: 'invalid_value', param: 'temperature' }),
  'error-reset': async (name) => {
    const error = await failing(() => generateText(bare(name)));
    assert.ok(APICallError.isInstance(error), String(error));
    assert.ok(error.isRetryable);
    return { said: `APICallError ${error.statusCode ?? 'without a status'}`, seen: {} };
  },
  unfit: tooMuch,
  'unfit-far': tooMuch,
  fold: (name) => folding(small, name),
  'fold-stream': async (name) => {
    const { text, error } = await streamed({ model: model(small), maxRetries: 0, ...conversation(name) });
    return error ? overflow(error) : folded(text);
  },
  'fold-unknown': (name) => folding(unknown, name),
};

function tooMuch(name) {
  return refused({ model: model(small), prompt: tooLong(name), maxRetries: 0 }, { status: 400, code: 'context_length_exceeded', type: 'invalid_request_error', param: 'messages' });
}

// Only the provider for compatible servers knows reasoning in chat completions.
if (compatible) {
  cases.reasoning = async (name) => {
    const whole = await generateText(ask(name));
    assert.equal(whole.reasoningText, 'First I thought about it.');
    const { text, kinds, result } = await streamed(ask(name));
    assert.equal(await result.reasoningText, 'First I thought about it.');
    return answered(text, { kinds });
  };
}

function conversation(scenario) {
  const [system, ...messages] = talk(scenario);
  return { instructions: system.content, messages };
}

function overflow(error) {
  if (RetryError.isInstance(error)) error = error.lastError;
  assert.ok(APICallError.isInstance(error), String(error));
  assert.equal(JSON.parse(error.responseBody).error.code, 'context_length_exceeded');
  return { said: 'APICallError 400 context_length_exceeded', seen: {} };
}

function folded(text, headers) {
  assert.equal(text, 'Hello from the model.');
  return { said: 'answer' + (headers ? `, Foldgate-Fold: ${headers['foldgate-fold']}` : ''), seen: {} };
}

async function folding(name, scenario) {
  try {
    const { text, response } = await generateText({ model: model(name), maxRetries: 0, ...conversation(scenario) });
    return folded(text, response.headers);
  } catch (error) {
    return overflow(error);
  }
}

await run(cases);

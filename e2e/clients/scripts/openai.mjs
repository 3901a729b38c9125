// The official OpenAI SDK for Node.
import assert from 'node:assert/strict';
import OpenAI, { toFile } from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { answered, apiKey, baseURL, failing, header, large, pictureURL, pixel, run, small, talk, tooLong, unknown } from './cases.mjs';

const client = new OpenAI({ baseURL, apiKey, maxRetries: 2 });
const bare = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const ask = (name) => ({ model: large, messages: [{ role: 'user', content: `@${name}` }] });

const tide = {
  type: 'function',
  function: { name: 'tide', description: 'The tide at a harbour', parameters: { type: 'object', properties: { harbour: { type: 'string' } }, required: ['harbour'] } },
};

// refused is the outcome of a case in which the SDK throws.
async function refused(Kind, request, expected) {
  const error = await failing(() => bare.chat.completions.create(request));
  assert.ok(error instanceof Kind, `${error?.constructor?.name}: ${error}`);
  for (const [name, value] of Object.entries(expected)) assert.equal(error[name], value, name);
  const { status, code, type, param, requestID } = error;
  return { said: `${Kind.name} ${code ?? ''}`.trim(), seen: { status, code, type, param, requestID } };
}

async function collect(stream) {
  let text = '', usage, chunks = 0, reasoning = '';
  for await (const chunk of stream) {
    chunks++;
    text += chunk.choices[0]?.delta?.content ?? '';
    reasoning += chunk.choices[0]?.delta?.reasoning_content ?? '';
    usage = chunk.usage ?? usage;
  }
  return { text, usage, chunks, reasoning };
}

await run({
  plain: async (name) => {
    const { data, response } = await client.chat.completions.create(ask(name)).withResponse();
    return answered(data.choices[0].message.content, { data, id: data._request_id }, header(response));
  },
  stream: async (name) => {
    const { data, response } = await client.chat.completions
      .create({ ...ask(name), stream: true, stream_options: { include_usage: true } }).withResponse();
    const got = await collect(data);
    assert.equal(got.usage.completion_tokens, 9);
    return answered(got.text, got, header(response));
  },
  'stream-no-usage': async () => {
    const got = await collect(await client.chat.completions.create({ ...ask('stream'), stream: true }));
    assert.equal(got.usage, undefined);
    return answered(got.text, got);
  },
  tools: async (name) => {
    const messages = ask(name).messages;
    const first = await client.chat.completions.create({ model: large, messages, tools: [tide], parallel_tool_calls: true });
    const calls = first.choices[0].message.tool_calls;
    assert.deepEqual(calls.map((c) => JSON.parse(c.function.arguments).harbour), ['Rostock', 'Bergen']);
    messages.push(first.choices[0].message, ...calls.map((c) => ({ role: 'tool', tool_call_id: c.id, content: 'high' })));
    const second = await client.chat.completions.create({ model: large, messages, tools: [tide] });
    const text = second.choices[0].message.content;
    assert.equal(text, 'The results are call_rostock=high and call_bergen=high.');
    return { said: 'two calls, answer', seen: { first, text } };
  },
  'tools-stream': async () => {
    const runner = client.chat.completions.runTools({
      stream: true, model: large, messages: ask('tools').messages,
      tools: [{ type: 'function', function: { ...tide.function, parse: JSON.parse, function: ({ harbour }) => `${harbour} high` } }],
    });
    const text = await runner.finalContent();
    assert.equal(text, 'The results are call_rostock=Rostock high and call_bergen=Bergen high.');
    return { said: 'two calls, answer', seen: { text, messages: runner.messages } };
  },
  schema: async (name) => {
    const got = await client.chat.completions.parse({ ...ask(name), response_format: zodResponseFormat(z.object({ harbour: z.string(), berths: z.number() }), 'harbour') });
    const { parsed } = got.choices[0].message;
    assert.deepEqual(parsed, { harbour: 'Rostock', berths: 7 });
    return { said: 'parsed object', seen: parsed };
  },
  image: async (name) => {
    const content = [{ type: 'text', text: `@${name}` }, { type: 'image_url', image_url: { url: pixel } }, { type: 'image_url', image_url: { url: pictureURL, detail: 'low' } }];
    const got = await client.chat.completions.create({ model: large, messages: [{ role: 'user', content }] });
    const text = got.choices[0].message.content;
    assert.equal(text, `I see data of ${pixel.length} bytes and https of ${pictureURL.length} bytes.`);
    return { said: 'both images seen', seen: text };
  },
  reasoning: async (name) => {
    const whole = await client.chat.completions.create({ ...ask(name), reasoning_effort: 'low' });
    assert.equal(whole.choices[0].message.reasoning_content, 'First I thought about it.');
    const got = await collect(await client.chat.completions.create({ ...ask(name), stream: true }));
    assert.equal(got.reasoning, 'First I thought about it.');
    return answered(got.text, { reasoning: got.reasoning });
  },
  cancel: async (name) => {
    const stream = await client.chat.completions.create({ ...ask(name), stream: true });
    let text = '';
    for await (const chunk of stream) {
      text += chunk.choices[0].delta.content ?? '';
      if (text === 'one two ') break; // leaves, which aborts the request
    }
    assert.ok(stream.controller.signal.aborted);
    return { said: 'left in mid-stream', seen: text };
  },
  timeout: async (name) => {
    const error = await failing(() => bare.chat.completions.create(ask(name), { timeout: 1000 }));
    assert.ok(error instanceof OpenAI.APIConnectionTimeoutError, String(error));
    return { said: 'APIConnectionTimeoutError', seen: error.message };
  },
  'retry-429': async (name) => answered((await client.chat.completions.create(ask(name))).choices[0].message.content),
  'retry-500': async (name) => answered((await client.chat.completions.create(ask(name))).choices[0].message.content),
  'retry-reset': async (name) => answered((await client.chat.completions.create(ask(name))).choices[0].message.content),
  'error-401': (name) => refused(OpenAI.AuthenticationError, ask(name), { status: 401, code: 'invalid_api_key' }),
  'error-404': (name) => refused(OpenAI.NotFoundError, ask(name), { status: 404, code: 'model_not_found', param: 'model' }),
  'error-429': (name) => refused(OpenAI.RateLimitError, ask(name), { status: 429, code: 'rate_limit_exceeded' }),
  'error-400': (name) => refused(OpenAI.BadRequestError, ask(name), { status: 400, code: 'invalid_value', param: 'temperature' }),
  'error-reset': async (name) => {
    const error = await failing(() => bare.chat.completions.create(ask(name)));
    assert.ok(error instanceof OpenAI.APIError, String(error));
    return { said: `${error.constructor.name} ${error.code ?? ''}`.trim(), seen: {} };
  },
  unfit: tooMuch,
  'unfit-far': tooMuch,
  fold: (name) => folding(small, name, false),
  'fold-stream': (name) => folding(small, name, true),
  'fold-unknown': (name) => folding(unknown, name, false),
  models: async () => {
    const all = await client.models.list();
    const ids = all.data.map((m) => m.id);
    assert.deepEqual(ids, [large, small]);
    return { said: 'two models', seen: all.data };
  },
  embeddings: async () => {
    const got = await client.embeddings.create({ model: 'text-embedding-3-small', input: 'harbour', encoding_format: 'float' });
    assert.deepEqual(got.data[0].embedding, [0.5, -0.25]);
    return { said: 'one vector', seen: got };
  },
  completions: async () => {
    const got = await client.completions.create({ model: 'gpt-3.5-turbo-instruct', prompt: 'harbour' });
    return answered(got.choices[0].text);
  },
  files: async () => {
    const got = await client.files.create({ purpose: 'user_data', file: await toFile(Buffer.from('x'.repeat(100_000)), 'notes.txt') });
    assert.ok(got.bytes >= 100_000);
    return { said: 'uploaded', seen: { id: got.id } };
  },
});

function tooMuch(name) {
  return refused(OpenAI.BadRequestError, { model: small, messages: [{ role: 'user', content: tooLong(name) }] },
    { status: 400, code: 'context_length_exceeded', type: 'invalid_request_error', param: 'messages' });
}

// folding is a request over the window: refused direct, answered through the gateway.
async function folding(model, scenario, stream) {
  const request = { model, messages: talk(scenario), stream };
  try {
    const { data, response } = await bare.chat.completions.create(request).withResponse();
    const text = stream ? (await collect(data)).text : data.choices[0].message.content;
    assert.equal(text, 'Hello from the model.');
    return { said: `answer, Foldgate-Fold: ${response.headers.get('foldgate-fold')}`, seen: {} };
  } catch (error) {
    assert.ok(error instanceof OpenAI.BadRequestError, String(error));
    assert.equal(error.code, 'context_length_exceeded');
    return { said: 'BadRequestError context_length_exceeded', seen: {} };
  }
}

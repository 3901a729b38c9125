package refusal

// structures are the wordings for messages in an order or a form that the
// upstream does not take. A fold that caused one must not be sent again.
func structures() []wording {
	return []wording{
		// A result without its call, a call without its results.
		{needs: "must be a response to a pre", pattern: `must be a response to a prece+ding message with .?tool_calls`, kind: Structure},
		{needs: "must be followed by tool messages", pattern: `must be followed by tool messages responding to each .?tool_call_id`, kind: Structure},
		{needs: "tool_use_id", pattern: `unexpected .?tool_use_id.? found in .?tool_result`, kind: Structure},
		{needs: "tool_use", pattern: `.?tool_use.? ids were found without .?tool_result.? blocks`, kind: Structure},
		{needs: "number of function calls and responses", pattern: `not the same number of function calls and responses`, kind: Structure},
		{needs: "number of function response parts", pattern: `number of function response parts is equal to the number of function call parts`, kind: Structure},
		{needs: "function call turn comes immediately after", pattern: `function call turn comes immediately after a user turn`, kind: Structure},
		{needs: "number of toolresult blocks", pattern: `number of toolresult blocks`, kind: Structure},
		{needs: "expected toolresult blocks", pattern: `expected toolresult blocks at messages`, kind: Structure},
		{needs: "tool result blocks cannot", pattern: `conversation blocks and tool result blocks cannot be provided in the same turn`, kind: Structure},
		{needs: "toolconfig field must be defined", pattern: `toolconfig field must be defined when using tooluse`, kind: Structure},

		// The order of the roles.
		{needs: "must alternate", pattern: `\broles must alternate\b`, kind: Structure, flags: template},
		{needs: "must alternate between", pattern: `conversation must alternate between user and assistant roles`, kind: Structure},
		{needs: "must start with a user message", pattern: `conversation must start with a user message`, kind: Structure},
		{needs: "after role", pattern: `unexpected role .{1,20} after role`, kind: Structure},
		{needs: "expected last role", pattern: `expected last role user or tool`, kind: Structure},
		{needs: "must be at the beginning", pattern: `system message must be at the (?:beginning|start)`, kind: Structure, flags: template},
		{needs: "no user query found", pattern: `no user query found in messages`, kind: Structure, flags: template},
		{needs: "assistant message prefill", pattern: `does not support assistant message prefill`, kind: Structure},
		{needs: "must end with a user message", pattern: `conversation must end with a user message`, kind: Structure},

		// Nothing where something is needed.
		{needs: "non-empty", pattern: `text content blocks must be non-empty|must have non-empty content`, kind: Structure},
		{needs: "text content is empty", pattern: `text content is empty`, kind: Structure},
		{needs: "must not be empty", pattern: `contents\.parts must not be empty`, kind: Structure},
		{needs: "content or tool_calls", pattern: `assistant message must have either content or tool_calls`, kind: Structure},
		{needs: "contentblock object", pattern: `text field in the contentblock object at .{1,60} is blank`, kind: Structure},

		// Reasoning that has to come back with its message.
		{needs: "must be passed back", pattern: `reasoning_content.{0,120}must be passed back`, kind: Structure},
		{needs: "thought_signature", pattern: `missing an? .?thought_signature`, kind: Structure},
		{needs: "thinking", pattern: `.?thinking.? .{0,60}blocks.{0,80}cannot be modified`, kind: Structure},

		// Whatever else a chat template raises.
		{needs: "jinja", pattern: `jinja exception|jinja2?\.exceptions|jinja template error|rendering prompt with jinja template`, kind: Structure, flags: template},
		{needs: "templateerror", pattern: `templateerror`, kind: Structure, flags: template},
	}
}

// structureCodes are what tells a refused structure where no wording did.
func structureCodes() []string { return []string{"invalid_request_message_order"} }

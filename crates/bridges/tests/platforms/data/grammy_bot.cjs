// A bot on grammY, which is not ours, that uses what our adapter uses. Arguments: grammY's module, the address of the Bot
// API, the token. It says what it sees of errors in the chat, so that the test sees it too.
const { Bot, GrammyError, InlineKeyboard, InputFile } = require(process.argv[2]);
const bot = new Bot(process.argv[4], { client: { apiRoot: process.argv[3] } });

const refused = async (what) => {
  try {
    await what();
    return "taken";
  } catch (error) {
    if (error instanceof GrammyError) return `${error.error_code} ${error.description}`;
    throw error;
  }
};

bot.command("ask", async (ctx) => {
  const keyboard = new InlineKeyboard().text("Allow", "p:1:0").row().text("Deny", "p:1:1");
  await ctx.reply("May I?", { reply_markup: keyboard, reply_parameters: { message_id: ctx.msg.message_id } });
  await ctx.react("👀");
});

bot.on("callback_query:data", async (ctx) => {
  await ctx.answerCallbackQuery({ text: `you pressed ${ctx.callbackQuery.data}`, show_alert: true });
  await ctx.editMessageText("Answered.");
  const again = await refused(() => ctx.editMessageText("Answered."));
  const twice = await refused(() => ctx.answerCallbackQuery());
  const emoji = await refused(() => ctx.api.setMessageReaction(ctx.chat.id, ctx.msg.message_id, [{ type: "emoji", emoji: "✅" }]));
  const nowhere = await refused(() => ctx.api.sendMessage(-999, "hello"));
  const gone = await refused(() => ctx.api.editMessageText(ctx.chat.id, 999999, "hello"));
  const long = await refused(() => ctx.api.sendMessage(ctx.chat.id, "x".repeat(4097)));
  await ctx.reply([again, twice, emoji, nowhere, gone, long].join("\n"));
});

bot.on("message:document", async (ctx) => {
  const file = await ctx.getFile();
  const response = await fetch(`${process.argv[3]}/file/bot${process.argv[4]}/${file.file_path}`);
  const content = `back: ${await response.text()}`;
  const topic = await ctx.api.createForumTopic(ctx.chat.id, "A topic");
  const other = { message_thread_id: topic.message_thread_id };
  await ctx.api.sendDocument(ctx.chat.id, new InputFile(Buffer.from(content), "back.txt"), other);
});

bot.start();

//! The bus of the extensions of a session.

use super::*;

#[tokio::test]
async fn events_of_the_bus_reach_other_extensions() {
    let listener = "export default (pi) => { let ctx; pi.on('session_start', (_, c) => { ctx = c; }); \
                    pi.events.on('news', (data) => ctx.ui.notify(`heard ${data.text}`)); };";
    let sender = "export default (pi) => pi.registerCommand('tell', { handler: (text) => { pi.events.emit('news', { text }); } });";
    let mut session = TestSession::new(&[listener, sender], []).await;
    session.send("/tell all").await;
    assert_eq!(session.notified().await, "heard all");
}

#[tokio::test]
async fn functions_in_events_call_the_original_ones() {
    let listener = "export default (pi) => { let known = 'nothing';
        pi.events.on('ask', ({ deep: { reply }, later }) => { reply('at once', (text) => { known = text; }); Promise.resolve().then(() => later('later')); });
        pi.registerCommand('known', { handler: (_, ctx) => ctx.ui.notify(known) }); };";
    let sender = "export default (pi) => pi.registerCommand('ask', { handler: (_, ctx) => { let got = 'nothing';
        pi.events.emit('ask', { deep: { reply: (text, back) => { got = text; back('back'); } }, later: (text) => ctx.ui.notify(text) });
        ctx.ui.notify(got); } });";
    let mut session = TestSession::new(&[listener, sender], []).await;
    session.send("/ask").await;
    assert_eq!(session.notified().await, "at once");
    assert_eq!(session.notified().await, "later");
    session.send("/known").await;
    assert_eq!(session.notified().await, "back");
}

#[tokio::test]
async fn extensions_that_ask_each_other_do_not_wait_for_ever() {
    let first = "export default (pi) => {
        pi.events.on('first', ({ reply }) => reply('first'));
        pi.registerCommand('first', { handler: (_, ctx) => { let got; pi.events.emit('second', { reply: (text) => { got = text; } }); ctx.ui.notify(got); } }); };";
    let second = "export default (pi) => pi.events.on('second', ({ reply }) => { pi.events.emit('first', { reply: () => {} }); reply('second'); });";
    let mut session = TestSession::new(&[first, second], []).await;
    session.send("/first").await;
    assert_eq!(session.notified().await, "second");
}

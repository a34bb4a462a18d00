//! Operations that answer page by page: each page is asked for when somebody waits for it, and where
//! the next one begins is what the page says.
//!
//! A generated [`PagedCall`] says how its pages follow one another ([`Paging`]) and where a page has
//! its items; everything else is here. No more than one page is kept, and dropping what waits for
//! one loses nothing: the next wait goes on with the same request.

mod error;
mod link;
mod next;
mod request;
mod target;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll, ready},
    vec,
};

pub use futures_core::Stream;
use http::Extensions;

use self::next::{Asked, Guard, Next};
pub use self::{
    error::{PageError, PageFault},
    next::{Limit, Marks, Paging, Step, Targets},
};
use super::{Answer, Call, Core, Error, Response};
use crate::Nullable;

/// Some of the items of a list, as one answer has them.
///
/// Generated for the answers of every `[[pages]]`, so that code for all of them is written once.
pub trait Paged {
    /// What it is a list of.
    type Item;

    /// The items of this page.
    fn items(&self) -> &[Self::Item];

    /// The same by value.
    fn into_items(self) -> Vec<Self::Item>;
}

impl<T> Paged for Vec<T> {
    type Item = T;

    fn items(&self) -> &[T] {
        self
    }

    fn into_items(self) -> Vec<T> {
        self
    }
}

/// `null` is a page of nothing.
impl<P: Paged> Paged for Nullable<P> {
    type Item = P::Item;

    fn items(&self) -> &[P::Item] {
        self.value().map(P::items).unwrap_or_default()
    }

    fn into_items(self) -> Vec<P::Item> {
        self.into_option().map(P::into_items).unwrap_or_default()
    }
}

impl<P: Paged> Paged for Answer<P> {
    type Item = P::Item;

    fn items(&self) -> &[P::Item] {
        self.body.items()
    }

    fn into_items(self) -> Vec<P::Item> {
        self.body.into_items()
    }
}

/// A call that answers page by page; generated for each operation of a `[[pages]]`.
pub trait PagedCall: Call {
    /// Its page.
    type Page: Paged;
    /// How its pages follow one another.
    const PAGING: Paging;

    /// The page of an answer; `None` for one without a body, behind which nothing comes.
    fn page(answer: Self::Success) -> Option<Self::Page>;

    /// What a page says of the next one, as far as its body does.
    fn marks(page: &Self::Page) -> Marks {
        let _ = page;
        Marks::new()
    }
}

/// What a page holds.
pub type ItemOf<C> = <<C as PagedCall>::Page as Paged>::Item;

/// Where a page begins: an argument of the call or, where pages name each other by links, a query.
/// It may be kept and given to [`Pages::resume_from`] later. Not for logs: it is the server's, who
/// may have put anything into it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cursor(String);

impl Cursor {
    /// One that was kept.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Cursor {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Cursor {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// Nothing of its text.
impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor").finish_non_exhaustive()
    }
}

/// How many pages in a row may be empty before [`PageFault::Empty`].
const EMPTY: u32 = 100;

type Outcome<C> = Result<Answer<<C as Call>::Success>, Error<<C as Call>::Refusal>>;
type Sending<C> = Pin<Box<dyn Future<Output = Outcome<C>> + Send>>;

/// The pages of a call, in their order. Nothing is sent before it is polled, and nothing ahead.
///
/// An error is given once, and nothing behind it unless [`again`](Self::again) is called.
#[must_use = "pages are asked for when they are waited for"]
pub struct Pages<C: PagedCall> {
    core: Core,
    call: C,
    extensions: Extensions,
    place: Place,
    guard: Guard,
    /// How many pages may still be given, where there is a limit.
    left: Option<usize>,
    state: State<C>,
}

/// Where the next page begins.
enum Place {
    /// Where the call says.
    Start,
    At(Cursor),
    /// Behind the last; where more may come later, if the last page said it.
    End(Option<Cursor>),
}

enum State<C: PagedCall> {
    Ready,
    Sent(Asked, Sending<C>),
    /// The page is given, and no other can be asked for.
    Lost(PageFault),
    Stopped,
}

impl<C: PagedCall> Pages<C> {
    /// The pages of a call, from where its own arguments begin.
    pub fn new(core: &Core, call: C) -> Self {
        Self {
            core: core.clone(),
            call,
            extensions: Extensions::new(),
            place: Place::Start,
            guard: Guard::new(EMPTY),
            left: None,
            state: State::Ready,
        }
    }

    /// The same from a page whose [`cursor`](Self::cursor) was kept.
    pub fn resume_from(mut self, cursor: impl Into<Cursor>) -> Self {
        self.place = Place::At(cursor.into());
        self
    }

    /// Gives something to the transport with each request, by its type, as
    /// [`Calling::with`](super::Calling::with).
    pub fn with<T: Clone + Send + Sync + 'static>(mut self, extension: T) -> Self {
        self.extensions.insert(extension);
        self
    }

    /// The same with another number of pages in a row that may be empty and still name a next one;
    /// 100 unless it is said.
    pub fn with_empty_pages(mut self, most: u32) -> Self {
        self.guard.most_empty = most;
        self
    }

    /// The same with no more pages than so many, whatever the server says of others.
    /// [`is_complete`](Self::is_complete) tells whether those were all, and
    /// [`cursor`](Self::cursor) where the next one begins.
    pub const fn at_most(mut self, pages: usize) -> Self {
        self.left = Some(pages);
        self
    }

    /// The items of the pages.
    pub fn items(self) -> PageItems<C> {
        PageItems { pages: self, items: Vec::new().into_iter(), page: None, given: 0, left: None }
    }

    /// Where the next page begins; `None` where the call's own arguments say it. Behind the last
    /// page, where to ask for what came later, if that page says so.
    #[must_use]
    pub const fn cursor(&self) -> Option<&Cursor> {
        match &self.place {
            Place::Start | Place::End(None) => None,
            Place::At(cursor) | Place::End(Some(cursor)) => Some(cursor),
        }
    }

    /// Whether the last page was given.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        matches!(self.place, Place::End(_))
    }

    /// Goes on behind an error: the page that failed, or that did not say how to go on, is asked
    /// for anew.
    pub fn again(&mut self) {
        if matches!(self.state, State::Stopped) {
            self.state = State::Ready;
        }
    }

    /// Sends the request of the next page, which is prepared as that of every call.
    fn send(&self) -> Result<(Asked, Sending<C>), PageError<C::Refusal>>
    where
        C: 'static,
    {
        let mut request = self.call.request(&self.core);
        if let Place::At(cursor) = &self.place {
            request = request.at_page(&C::PAGING, cursor);
        }
        let (number, limit) = request.numbers(&C::PAGING).map_err(PageError::Page)?;
        let (operation, mut sent) =
            request.finish(&self.core.base_url).map_err(|error| PageError::Call(error.into()))?;
        let asked = Asked { uri: sent.uri().clone(), number, limit };
        sent.extensions_mut().extend(self.extensions.clone());
        let core = self.core.clone();
        let sending = Box::pin(async move {
            let answer = core.transport.send(operation, sent).await.map_err(Error::Transport)?;
            C::read(Response::new(answer, operation, core.shown))
        });
        Ok((asked, sending))
    }
}

impl<C: PagedCall + 'static> Pages<C> {
    /// The next page; `None` behind the last.
    pub async fn next(&mut self) -> Option<Result<Answer<C::Page>, PageError<C::Refusal>>> {
        poll_fn(|context| self.poll(context)).await
    }

    #[allow(clippy::type_complexity, reason = "what every stream of pages gives")]
    fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Answer<C::Page>, PageError<C::Refusal>>>> {
        let (asked, mut sending) = match std::mem::replace(&mut self.state, State::Stopped) {
            State::Stopped => return Poll::Ready(None),
            State::Lost(fault) => return Poll::Ready(Some(Err(PageError::Page(fault)))),
            State::Ready if self.is_complete() || self.left == Some(0) => {
                self.state = State::Ready;
                return Poll::Ready(None);
            }
            State::Ready => match self.send() {
                Ok(sent) => sent,
                Err(error) => return Poll::Ready(Some(Err(error))),
            },
            State::Sent(asked, sending) => (asked, sending),
        };
        let Poll::Ready(answer) = sending.as_mut().poll(context) else {
            self.state = State::Sent(asked, sending);
            return Poll::Pending;
        };
        Poll::Ready(match answer {
            Ok(answer) => self.take(&asked, answer).map(Ok),
            Err(error) => Some(Err(PageError::Call(error))),
        })
    }

    /// Gives a page, and decides where the next one begins.
    fn take(&mut self, asked: &Asked, answer: Answer<C::Success>) -> Option<Answer<C::Page>> {
        let mut page = None;
        let answer = answer.map(|body| page = C::page(body));
        let Some(page) = page else {
            (self.place, self.state) = (Place::End(None), State::Ready);
            return None;
        };
        let (count, marks) = (page.items().len(), C::marks(&page));
        let next = next::next(&C::PAGING, asked, count, &marks, &answer.headers);
        let before = match &self.place {
            Place::At(cursor) => Some(cursor),
            Place::Start | Place::End(_) => None,
        };
        match next.and_then(|next| self.guard.let_pass(next, before, count)) {
            Ok(Next::At(cursor)) => (self.place, self.state) = (Place::At(cursor), State::Ready),
            Ok(Next::End(later)) => (self.place, self.state) = (Place::End(later), State::Ready),
            Err(fault) => self.state = State::Lost(fault),
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        Some(answer.map(|()| page))
    }
}

/// Nothing in it is held in place: what is on its way stands in a box.
impl<C: PagedCall> Unpin for Pages<C> {}

impl<C: PagedCall + 'static> Stream for Pages<C> {
    type Item = Result<Answer<C::Page>, PageError<C::Refusal>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(context)
    }
}

/// The operation alone: arguments and cursors may be secrets.
impl<C: PagedCall> fmt::Debug for Pages<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("operation", &C::OPERATION.id).finish_non_exhaustive()
    }
}

/// The items of a call's pages, in their order; the next page is asked for when the last item of
/// one was given and another is waited for.
#[must_use = "pages are asked for when their items are waited for"]
pub struct PageItems<C: PagedCall> {
    pages: Pages<C>,
    items: vec::IntoIter<ItemOf<C>>,
    /// Where the page of these items began.
    page: Option<Cursor>,
    given: usize,
    /// How many items may still be given, where there is a limit.
    left: Option<usize>,
}

impl<C: PagedCall> PageItems<C> {
    /// The same from a page whose [`cursor`](Self::cursor) was kept.
    pub fn resume_from(mut self, cursor: impl Into<Cursor>) -> Self {
        self.pages = self.pages.resume_from(cursor);
        self
    }

    /// Gives something to the transport with each request; see [`Pages::with`].
    pub fn with<T: Clone + Send + Sync + 'static>(mut self, extension: T) -> Self {
        self.pages = self.pages.with(extension);
        self
    }

    /// The same with another number of empty pages in a row; see [`Pages::with_empty_pages`].
    pub fn with_empty_pages(mut self, most: u32) -> Self {
        self.pages = self.pages.with_empty_pages(most);
        self
    }

    /// The same with no more items than so many: no page is asked for behind them.
    /// [`is_complete`](Self::is_complete) tells whether those were all. For a limit of pages, see
    /// [`Pages::at_most`].
    pub const fn at_most(mut self, items: usize) -> Self {
        self.left = Some(items);
        self
    }

    /// Where the page of the next item begins; see [`Pages::cursor`]. Who goes on from here misses
    /// nothing, and meets the first [`given`](Self::given) items once more.
    #[must_use]
    pub fn cursor(&self) -> Option<&Cursor> {
        if self.items.as_slice().is_empty() { self.pages.cursor() } else { self.page.as_ref() }
    }

    /// How many items of that page were given.
    #[must_use]
    pub fn given(&self) -> usize {
        if self.items.as_slice().is_empty() { 0 } else { self.given }
    }

    /// Whether the last item was given, and no page is left.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.items.as_slice().is_empty() && self.pages.is_complete()
    }

    /// Goes on behind an error; see [`Pages::again`].
    pub fn again(&mut self) {
        self.pages.again();
    }
}

impl<C: PagedCall + 'static> PageItems<C> {
    /// The next item; `None` behind the last.
    pub async fn next(&mut self) -> Option<Result<ItemOf<C>, PageError<C::Refusal>>> {
        poll_fn(|context| self.poll(context)).await
    }

    #[allow(clippy::type_complexity, reason = "what every stream of items gives")]
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<ItemOf<C>, PageError<C::Refusal>>>> {
        if self.left == Some(0) {
            return Poll::Ready(None);
        }
        loop {
            if let Some(item) = self.items.next() {
                self.given += 1;
                self.left = self.left.map(|left| left.saturating_sub(1));
                return Poll::Ready(Some(Ok(item)));
            }
            self.page = self.pages.cursor().cloned();
            match ready!(self.pages.poll(context)) {
                Some(Ok(page)) => (self.items, self.given) = (page.into_items().into_iter(), 0),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// As its pages.
impl<C: PagedCall> Unpin for PageItems<C> {}

impl<C: PagedCall + 'static> Stream for PageItems<C> {
    type Item = Result<ItemOf<C>, PageError<C::Refusal>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(context)
    }
}

impl<C: PagedCall> fmt::Debug for PageItems<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageItems").field("operation", &C::OPERATION.id).finish_non_exhaustive()
    }
}

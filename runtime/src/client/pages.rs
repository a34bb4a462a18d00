//! Paginated operations as streams, which request each page only when they are polled.
//!
//! A generated [`PagedCall`] defines how the next page is found ([`Pagination`]) and where the items of a
//! page are. At most one page is in memory. Dropping a pending `next()` future loses nothing, because the
//! next poll continues the same request.

mod error;
mod link;
mod link_target;
mod next_page;
mod page_request;
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

use self::next_page::{LoopGuard, NextPage, PageRequest};
pub use self::{
    error::{PageError, PageFault},
    next_page::{LinkPolicy, OffsetStep, PageLimit, PageMarkers, Pagination},
};
#[cfg(feature = "blocking")]
use super::BlockingIter;
use super::{ApiClient, Call, Error, RawResponse, Response};
use crate::Nullable;

/// One page of a list.
///
/// Generated for the response types of every `[[pages]]`, so that code for all lists can be written once.
pub trait ItemPage {
    /// The type of the items.
    type Item;

    /// Returns the items of this page.
    fn items(&self) -> &[Self::Item];

    /// Takes the items out of this page.
    fn into_items(self) -> Vec<Self::Item>;
}

impl<T> ItemPage for Vec<T> {
    type Item = T;

    fn items(&self) -> &[T] {
        self
    }

    fn into_items(self) -> Vec<T> {
        self
    }
}

/// A `null` response is a page without items.
impl<P: ItemPage> ItemPage for Nullable<P> {
    type Item = P::Item;

    fn items(&self) -> &[P::Item] {
        self.value().map(P::items).unwrap_or_default()
    }

    fn into_items(self) -> Vec<P::Item> {
        self.into_option().map(P::into_items).unwrap_or_default()
    }
}

impl<P: ItemPage, H> ItemPage for Response<P, H> {
    type Item = P::Item;

    fn items(&self) -> &[P::Item] {
        self.body().items()
    }

    fn into_items(self) -> Vec<P::Item> {
        self.into_body().into_items()
    }
}

/// A call with a paginated response. Generated for each operation of a `[[pages]]`.
pub trait PagedCall: Call {
    /// The type of one page.
    type Page: ItemPage;
    /// The rule by which the next page is found.
    const PAGINATION: Pagination;

    /// Takes the page out of a successful response. Returns `None` for a response without a body, which ends
    /// the list.
    fn into_page(answer: Self::Success) -> Option<Self::Page>;

    /// Returns the values in the body of a page from which the next page is determined.
    fn markers(page: &Self::Page) -> PageMarkers {
        let _ = page;
        PageMarkers::new()
    }
}

/// The type of the items of a paginated call.
pub type PageItem<C> = <<C as PagedCall>::Page as ItemPage>::Item;

/// The position of a page: the value of a parameter or, if pages are linked, a query string.
///
/// It can be stored and given to [`PageStream::resume_from`] later. The server chooses its content, so do not
/// log it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PageCursor(String);

impl PageCursor {
    /// Restores a stored cursor.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the cursor as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for PageCursor {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for PageCursor {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// Hides the content, which may be confidential.
impl fmt::Debug for PageCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageCursor").finish_non_exhaustive()
    }
}

/// The default of [`PageStream::with_max_empty_pages`].
const DEFAULT_MAX_EMPTY_PAGES: u32 = 100;

type PageCallResult<C> = Result<Response<<C as Call>::Success>, Error<<C as Call>::ErrorBody>>;
type PageCallFuture<C> = Pin<Box<dyn Future<Output = PageCallResult<C>> + Send>>;

/// The pages of a call in order, as a stream. No request is sent before the first poll, and no page is
/// requested before the previous one was returned.
///
/// An error is returned once. The stream then ends, unless [`retry_failed`](Self::retry_failed) is called.
#[must_use = "pages are requested only when the stream is polled"]
pub struct PageStream<C: PagedCall> {
    core: ApiClient,
    call: C,
    extensions: Extensions,
    position: PagePosition,
    /// The number of items received since the first page; `None` if the stream started later.
    received: Option<u64>,
    loop_guard: LoopGuard,
    /// The number of pages that may still be returned; `None` without a limit.
    remaining_pages: Option<usize>,
    state: PageStreamState<C>,
}

/// The position of the next page.
enum PagePosition {
    /// The first page, which the arguments of the call define.
    Start,
    At(PageCursor),
    /// After the last page, with the position at which later additions will appear, if the page has one.
    End(Option<PageCursor>),
}

enum PageStreamState<C: PagedCall> {
    Ready,
    Sending(PageRequest, PageCallFuture<C>),
    /// The page was returned, but the position of the next one is unknown.
    Faulted(PageFault),
    Stopped,
}

impl<C: PagedCall> PageStream<C> {
    /// Creates a stream that starts at the page that the arguments of the call define.
    pub fn new(core: &ApiClient, call: C) -> Self {
        Self {
            core: core.clone(),
            call,
            extensions: Extensions::new(),
            position: PagePosition::Start,
            received: Some(0),
            loop_guard: LoopGuard::new(DEFAULT_MAX_EMPTY_PAGES),
            remaining_pages: None,
            state: PageStreamState::Ready,
        }
    }

    /// Starts at a stored [`cursor`](Self::cursor).
    pub fn resume_from(mut self, cursor: impl Into<PageCursor>) -> Self {
        self.position = PagePosition::At(cursor.into());
        self.received = None;
        self
    }

    /// Attaches a value for the transport to each request; see
    /// [`PendingCall::with_extension`](super::PendingCall::with_extension).
    pub fn with_extension<T: Clone + Send + Sync + 'static>(mut self, extension: T) -> Self {
        self.extensions.insert(extension);
        self
    }

    /// Sets the maximum number of consecutive empty pages that refer to a next page. The default is 100. If
    /// there are more, the stream reports [`PageFault::TooManyEmpty`].
    pub fn with_max_empty_pages(mut self, limit: u32) -> Self {
        self.loop_guard.max_empty_pages = limit;
        self
    }

    /// Limits the number of pages. After the last permitted page, [`is_complete`](Self::is_complete) returns
    /// true if the list has no further page. Otherwise, [`cursor`](Self::cursor) returns the position of the
    /// next page.
    pub const fn with_max_pages(mut self, pages: usize) -> Self {
        self.remaining_pages = Some(pages);
        self
    }

    /// Converts the stream of pages into a stream of their items.
    pub fn into_items(self) -> PageItems<C> {
        PageItems {
            pages: self,
            items: Vec::new().into_iter(),
            page_cursor: None,
            consumed: 0,
            remaining_items: None,
        }
    }

    /// Converts the stream into an iterator that blocks the thread until the next page arrives. No async
    /// runtime is required.
    #[cfg(feature = "blocking")]
    pub fn into_blocking_iter(mut self) -> BlockingIter<Self> {
        let runtime = self.core.background.clone();
        self.core = self.core.to_background();
        BlockingIter::new(self, runtime)
    }

    /// Returns the position of the next page; `None` if the arguments of the call define it. After the last
    /// page, returns the position at which later additions will appear, if the page has one.
    #[must_use]
    pub const fn cursor(&self) -> Option<&PageCursor> {
        match &self.position {
            PagePosition::Start | PagePosition::End(None) => None,
            PagePosition::At(cursor) | PagePosition::End(Some(cursor)) => Some(cursor),
        }
    }

    /// Returns true once the last page was returned.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        matches!(self.position, PagePosition::End(_))
    }

    /// Continues after an error. Requests again the page whose request failed, or the page that did not refer
    /// to a valid next page.
    pub fn retry_failed(&mut self) {
        if matches!(self.state, PageStreamState::Stopped) {
            self.state = PageStreamState::Ready;
        }
    }

    /// Builds the request of the next page and sends it.
    fn send_request(&self) -> Result<(PageRequest, PageCallFuture<C>), PageError<C::ErrorBody>>
    where
        C: 'static,
    {
        let mut request = self.call.build_request(&self.core);
        if let PagePosition::At(cursor) = &self.position {
            request = request.with_page_cursor(&C::PAGINATION, cursor);
        }
        let (number, limit) = request.page_numbers(&C::PAGINATION).map_err(PageError::Page)?;
        let (operation, mut sent) =
            request.into_http(&self.core.base_url).map_err(|error| PageError::Call(error.into()))?;
        let starts_late = matches!(self.position, PagePosition::Start)
            && number.is_some_and(|number| C::PAGINATION.first_number() != Some(number));
        let received = self.received.filter(|_| !starts_late);
        let page_request = PageRequest { uri: sent.uri().clone(), number, limit, received };
        sent.extensions_mut().extend(self.extensions.clone());
        let core = self.core.clone();
        let sending = Box::pin(async move {
            let response = core.transport.send(operation, sent).await.map_err(Error::Transport)?;
            C::parse_response(RawResponse::new(response, operation, core.shown_fields))
        });
        Ok((page_request, sending))
    }
}

impl<C: PagedCall + 'static> PageStream<C> {
    /// Returns the next page, or `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<Response<C::Page, C::Headers>, PageError<C::ErrorBody>>> {
        poll_fn(|context| self.poll(context)).await
    }

    #[allow(clippy::type_complexity, reason = "the item type of every stream of pages")]
    fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Response<C::Page, C::Headers>, PageError<C::ErrorBody>>>> {
        let (page_request, mut sending) = match std::mem::replace(&mut self.state, PageStreamState::Stopped) {
            PageStreamState::Stopped => return Poll::Ready(None),
            PageStreamState::Faulted(fault) => return Poll::Ready(Some(Err(PageError::Page(fault)))),
            PageStreamState::Ready if self.is_complete() || self.remaining_pages == Some(0) => {
                self.state = PageStreamState::Ready;
                return Poll::Ready(None);
            }
            PageStreamState::Ready => match self.send_request() {
                Ok(sent) => sent,
                Err(error) => return Poll::Ready(Some(Err(error))),
            },
            PageStreamState::Sending(page_request, sending) => (page_request, sending),
        };
        let Poll::Ready(response) = sending.as_mut().poll(context) else {
            self.state = PageStreamState::Sending(page_request, sending);
            return Poll::Pending;
        };
        Poll::Ready(match response {
            Ok(response) => self.accept_page(&page_request, response).map(Ok),
            Err(error) => Some(Err(PageError::Call(error))),
        })
    }

    /// Returns a page and stores the position of the next one.
    fn accept_page(
        &mut self,
        page_request: &PageRequest,
        response: Response<C::Success>,
    ) -> Option<Response<C::Page, C::Headers>> {
        let mut page = None;
        let response = response.map(|body| page = C::into_page(body));
        let Some(page) = page else {
            (self.position, self.state) = (PagePosition::End(None), PageStreamState::Ready);
            return None;
        };
        let (count, marks) = (page.items().len(), C::markers(&page));
        let next = next_page::find_next_page(&C::PAGINATION, page_request, count, &marks, response.headers());
        let before = match &self.position {
            PagePosition::At(cursor) => Some(cursor),
            PagePosition::Start | PagePosition::End(_) => None,
        };
        if next.is_ok() {
            self.received = page_request.received_with(count);
        }
        match next.and_then(|next| self.loop_guard.check(next, before, count)) {
            Ok(NextPage::At(cursor)) => {
                (self.position, self.state) = (PagePosition::At(cursor), PageStreamState::Ready)
            }
            Ok(NextPage::End(later)) => {
                (self.position, self.state) = (PagePosition::End(later), PageStreamState::Ready)
            }
            Err(fault) => self.state = PageStreamState::Faulted(fault),
        }
        self.remaining_pages = self.remaining_pages.map(|left| left.saturating_sub(1));
        Some(response.map(|()| page).with_header_type())
    }
}

/// No field is structurally pinned, because the pending request is boxed.
impl<C: PagedCall> Unpin for PageStream<C> {}

impl<C: PagedCall + 'static> Stream for PageStream<C> {
    type Item = Result<Response<C::Page, C::Headers>, PageError<C::ErrorBody>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(context)
    }
}

/// Shows only the operation, because arguments and cursors may be secrets.
impl<C: PagedCall> fmt::Debug for PageStream<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageStream").field("operation", &C::OPERATION.id).finish_non_exhaustive()
    }
}

/// The items of all pages of a call, in order. The next page is requested when the stream is polled after the
/// last item of a page.
#[must_use = "pages are requested only when the stream is polled"]
pub struct PageItems<C: PagedCall> {
    pages: PageStream<C>,
    items: vec::IntoIter<PageItem<C>>,
    /// The position of the page that `items` belongs to.
    page_cursor: Option<PageCursor>,
    consumed: usize,
    /// The number of items that may still be returned; `None` without a limit.
    remaining_items: Option<usize>,
}

impl<C: PagedCall> PageItems<C> {
    /// Starts at a stored [`cursor`](Self::cursor).
    pub fn resume_from(mut self, cursor: impl Into<PageCursor>) -> Self {
        self.pages = self.pages.resume_from(cursor);
        self
    }

    /// Attaches a value for the transport to each request; see [`PageStream::with_extension`].
    pub fn with_extension<T: Clone + Send + Sync + 'static>(mut self, extension: T) -> Self {
        self.pages = self.pages.with_extension(extension);
        self
    }

    /// Sets the maximum number of consecutive empty pages; see [`PageStream::with_max_empty_pages`].
    pub fn with_max_empty_pages(mut self, limit: u32) -> Self {
        self.pages = self.pages.with_max_empty_pages(limit);
        self
    }

    /// Limits the number of items. Pages that contain only later items are not requested. After the last
    /// permitted item, [`is_complete`](Self::is_complete) returns true if the list has no further item.
    /// [`PageStream::with_max_pages`] limits the number of pages.
    pub const fn with_max_items(mut self, items: usize) -> Self {
        self.remaining_items = Some(items);
        self
    }

    /// Converts the stream into an iterator that blocks the thread until the next item is available; see
    /// [`PageStream::into_blocking_iter`].
    #[cfg(feature = "blocking")]
    pub fn into_blocking_iter(self) -> BlockingIter<Self> {
        let Self { pages, items, page_cursor, consumed, remaining_items } = self;
        let convert = |pages| Self { pages, items, page_cursor, consumed, remaining_items };
        pages.into_blocking_iter().map_stream(convert)
    }

    /// Returns the position of the page that contains the next item; see [`PageStream::cursor`]. Resuming
    /// there skips no item and repeats the first [`consumed_items`](Self::consumed_items) items.
    #[must_use]
    pub fn cursor(&self) -> Option<&PageCursor> {
        if self.items.as_slice().is_empty() { self.pages.cursor() } else { self.page_cursor.as_ref() }
    }

    /// Returns the number of already returned items at the start of the page at [`cursor`](Self::cursor).
    #[must_use]
    pub fn consumed_items(&self) -> usize {
        if self.items.as_slice().is_empty() { 0 } else { self.consumed }
    }

    /// Returns true once the last item of the last page was returned.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.items.as_slice().is_empty() && self.pages.is_complete()
    }

    /// Continues after an error; see [`PageStream::retry_failed`].
    pub fn retry_failed(&mut self) {
        self.pages.retry_failed();
    }
}

impl<C: PagedCall + 'static> PageItems<C> {
    /// Returns the next item, or `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<PageItem<C>, PageError<C::ErrorBody>>> {
        poll_fn(|context| self.poll(context)).await
    }

    #[allow(clippy::type_complexity, reason = "the item type of every stream of items")]
    fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<PageItem<C>, PageError<C::ErrorBody>>>> {
        if self.remaining_items == Some(0) {
            return Poll::Ready(None);
        }
        loop {
            if let Some(item) = self.items.next() {
                self.consumed += 1;
                self.remaining_items = self.remaining_items.map(|left| left.saturating_sub(1));
                return Poll::Ready(Some(Ok(item)));
            }
            self.page_cursor = self.pages.cursor().cloned();
            match ready!(self.pages.poll(context)) {
                Some(Ok(page)) => (self.items, self.consumed) = (page.into_items().into_iter(), 0),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// No field is structurally pinned; see [`PageStream`].
impl<C: PagedCall> Unpin for PageItems<C> {}

impl<C: PagedCall + 'static> Stream for PageItems<C> {
    type Item = Result<PageItem<C>, PageError<C::ErrorBody>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(context)
    }
}

impl<C: PagedCall> fmt::Debug for PageItems<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageItems").field("operation", &C::OPERATION.id).finish_non_exhaustive()
    }
}

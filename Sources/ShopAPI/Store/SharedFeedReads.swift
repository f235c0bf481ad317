import HTTPServing
import Synchronization

/// Reads of the feed that callers share. Those that wait for it wake up together, and most of them ask the same with the same key.
final class SharedFeedReads: Sendable {
    private struct Read: Hashable {
        let question: FeedQuestion
        let key: KeyScope
    }

    private let store: ShopStore
    private let inFlight = Mutex<[Read: Task<Result<FeedPage, Problem>, Never>]>([:])

    init(_ store: ShopStore) {
        self.store = store
    }

    /// The next entries, as ``ShopStore/feed(_:key:)``. The read may have begun before this call, so that a caller that is told of a later end has
    /// to ask again.
    func feed(_ question: FeedQuestion, key: KeyScope) async throws(Problem) -> FeedPage {
        let read = Read(question: question, key: key)
        let task = inFlight.withLock { inFlight in
            if let task = inFlight[read] { return task }
            // Of no caller: the first one may be cancelled while others wait for the same read.
            let task = Task {
                defer { self.inFlight.withLock { $0[read] = nil } }
                do throws(Problem) { return Result<FeedPage, Problem>.success(try await store.feed(question, key: key)) } catch {
                    return .failure(error)
                }
            }
            inFlight[read] = task
            return task
        }
        return try await task.value.get()
    }
}

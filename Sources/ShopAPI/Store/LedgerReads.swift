import Feed
import HTTPServing
import Postgres
import SQL
import Synchronization

/// Reads of the ledger that a standby may answer, each with a position of the feed whose changes it contains.
///
/// A standby is behind the primary by what it has not replayed yet. It replays in the order of the primary's commits, and the feed numbers a
/// change after its commit: a server that knows a position of the feed has all changes up to it.
final class LedgerReads: Sendable {
    private let primary: ShopStore
    private let standby: ShopStore?
    /// A standby that fails is asked again then.
    private let restsUntil = Mutex<ContinuousClock.Instant?>(nil)
    private static let rest: Duration = .seconds(2)
    /// How long a standby is waited for that is behind the position that a request names.
    private static let longestWait: Duration = .seconds(2)

    /// - Parameter standby: nil where the primary answers all reads.
    init(primary: ShopStore, standby: ShopStore? = nil) {
        (self.primary, self.standby) = (primary, standby)
    }

    /// What a statement reads, and where the feed ended before. Where the standby has nothing, the primary is asked, too.
    ///
    /// - Parameter minimum: a position that the answer must contain.
    /// - Throws: status 409 where the primary does not know the position either.
    func read<Value: Sendable>(
        _ statement: Statement,
        for verb: Verb,
        atLeast minimum: FeedEnd?,
        _ read: (Rows) throws -> [Value]
    ) async throws(Problem) -> (values: [Value], end: FeedEnd) {
        if let standby, restsUntil.withLock({ $0.map { $0 <= .now } ?? true }),
            let answer = try await self.read(statement, for: verb, atLeast: minimum, on: standby, read), !answer.values.isEmpty
        {
            return answer
        }
        guard let answer = try await primary.read(statement, for: verb, atLeast: minimum, read) else { throw .positionUnknown }
        return answer
    }

    /// Nil where the standby has not replayed that position in time, or is away.
    private func read<Value: Sendable>(
        _ statement: Statement,
        for verb: Verb,
        atLeast minimum: FeedEnd?,
        on standby: ShopStore,
        _ read: (Rows) throws -> [Value]
    ) async throws(Problem) -> (values: [Value], end: FeedEnd)? {
        let deadline = ContinuousClock.now + Self.longestWait
        var pause = Backoff(base: .milliseconds(5), cap: .milliseconds(100))
        var generator = SystemRandomNumberGenerator()
        while true {
            do throws(Problem) {
                if let answer = try await standby.read(statement, for: verb, atLeast: minimum, read) { return answer }
            } catch {
                // A key that is younger than what the standby has replayed is unknown there: the primary decides.
                if error.status >= 500 { restsUntil.withLock { $0 = .now + Self.rest } }
                return nil
            }
            guard ContinuousClock.now < deadline else { return nil }
            do { try await Task.sleep(for: pause.next(using: &generator)) } catch { throw .shuttingDown }
        }
    }
}

extension ShopStore {
    /// What a statement reads, and where the feed ended just before; nil where it ends before `minimum`.
    fileprivate func read<Value: Sendable>(
        _ statement: Statement,
        for verb: Verb,
        atLeast minimum: FeedEnd?,
        _ read: (Rows) throws -> [Value]
    ) async throws(Problem) -> (values: [Value], end: FeedEnd)? {
        try await perform(statement, for: verb) { connection in
            let end = try FeedEnd(await connection.query(.feedEnd()))
            if let minimum, end < minimum { return nil }
            return (try read(try await connection.query(statement)), end)
        }
    }
}

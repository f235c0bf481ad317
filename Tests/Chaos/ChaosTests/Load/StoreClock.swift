import AppStore
import Foundation
import Synchronization

/// The clock of the simulated store: the system's, plus an offset.
final class StoreClock: Sendable {
    private struct State {
        var offset = Duration.zero
        var readings = 0
    }

    private let state = Mutex(State())

    /// The store's current time.
    var now: Timestamp {
        let offset = state.withLock { state in
            state.readings += 1
            return state.offset
        }
        return Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000)).advanced(by: offset)
    }

    /// Whether the instant is too far in the future to be explained by the time between signing and posting.
    static func isAhead(_ instant: Timestamp) -> Bool {
        Double(instant.millisecondsSince1970) / 1000 > Date().timeIntervalSince1970 + 240
    }

    /// Sets the offset; zero makes the clock correct.
    ///
    /// - Returns: how often the clock was read since the last jump.
    @discardableResult
    func jump(by offset: Duration) -> Int {
        state.withLock { state in
            defer { state = State(offset: offset) }
            return state.readings
        }
    }
}

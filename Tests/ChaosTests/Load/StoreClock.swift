import AppStore
import Foundation
import Synchronization

/// What time it is in the make-believe store: like here, but for jumps.
final class StoreClock: Sendable {
    private struct State {
        var offset = Duration.zero
        var readings = 0
    }

    private let state = Mutex(State())

    /// What the store believes.
    var now: Timestamp {
        let offset = state.withLock { state in
            state.readings += 1
            return state.offset
        }
        return Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000)).advanced(by: offset)
    }

    /// Whether that is what only a clock that is ahead says, by more than anyone needs to sign and post.
    static func isAhead(_ instant: Timestamp) -> Bool {
        Double(instant.millisecondsSince1970) / 1000 > Date().timeIntervalSince1970 + 240
    }

    /// Makes the clock go wrong by that much; zero sets it right.
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

import AppStore
import Synchronization

@testable import Outbox

/// Handles calls of any kind with one request each, to an address with the name of the kind.
struct StubCallHandler: PlainCallHandler {
    let kind: String
    var kinds: [String] { [kind] }
    var slots = 2
    var lanes: Set<CallLane> = [CallLane(Simulated.bundleID, .production)]

    func attempt(_ call: LeasedCall) -> any CallAttempt { Attempt(kind: kind) }

    private struct Attempt: CallAttempt {
        let kind: String

        mutating func next(after outcome: ExchangeOutcome?) -> CallStep {
            switch outcome {
            case nil: .send(OutboundRequest(.get, kind, maximumAnswerBytes: 1))
            case .answer(let answer): .finish(.answered([answer.body]))
            case .failure(let failure): .finish(.later(reason: failure.rawValue))
            }
        }
    }
}

/// External servers: some never answer, the others answer at once.
final class StubServers: Sendable {
    /// The address of each request, when it arrives.
    let requests: AsyncStream<String>
    private let arrivals: AsyncStream<String>.Continuation
    private let addresses = Mutex<[String]>([])
    private let silent: Set<String>

    init(silent: Set<String>) {
        (requests, arrivals) = AsyncStream.makeStream()
        self.silent = silent
    }

    var asked: [String] { addresses.withLock(\.self) }

    var exchange: Exchange {
        Exchange { [self] request, _ in
            addresses.withLock { $0.append(request.url) }
            arrivals.yield(request.url)
            guard silent.contains(request.url) else { return .answer(HTTPAnswer(status: 200, body: Array("{}".utf8))) }
            let (silence, end) = AsyncStream<Never>.makeStream()
            for await _ in silence {}
            end.finish()
            return .failure(.shuttingDown)
        }
    }
}

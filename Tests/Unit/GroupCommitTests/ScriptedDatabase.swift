/// Replaces `appstore.receive`; the test answers each call.
final class ScriptedDatabase: Sendable {
    struct Call: Sendable {
        let bodies: [[UInt8]]
        private let answer: CheckedContinuation<[Int64], any Error>

        init(bodies: [[UInt8]], answer: CheckedContinuation<[Int64], any Error>) {
            self.bodies = bodies
            self.answer = answer
        }

        /// Commits; the event id is the first byte of the body.
        func commit() {
            answer.resume(returning: bodies.map { Int64($0[0]) })
        }

        func answer(_ ids: [Int64]) {
            answer.resume(returning: ids)
        }

        func fail() {
            answer.resume(throwing: Failure())
        }
    }

    struct Failure: Error {}

    private let stream: AsyncStream<Call>
    private let continuation: AsyncStream<Call>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(of: Call.self)
    }

    func receive(_ bodies: [[UInt8]], _ source: String) async throws -> [Int64] {
        try await withCheckedThrowingContinuation { answer in
            continuation.yield(Call(bodies: bodies, answer: answer))
        }
    }

    /// Waits for the next call.
    func nextCall() async throws -> Call {
        for await call in stream { return call }
        throw CancellationError()
    }
}

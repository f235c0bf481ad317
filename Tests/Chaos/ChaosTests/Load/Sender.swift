import EndToEndTesting
import Foundation
import Glibc
import Randomness
import StoreSimulator

/// Posts segments on its own thread, like Apple's servers: each body again until it is answered with 200.
struct Sender {
    let seed: UInt64
    let ports: [Int]
    let signer: NotificationSigner
    let clock: StoreClock
    let pacer: Pacer
    let postLog: PostLog
    let tally: FaultTally
    let poison: Poison
    private var connection: HTTPConnection?
    private var generator: SeededGenerator

    /// - Parameter number: distinguishes the random choices of the senders.
    init(
        _ number: Int,
        seed: UInt64,
        installation: ChaosInstallation,
        signer: NotificationSigner,
        clock: StoreClock,
        pacer: Pacer,
        postLog: PostLog,
        tally: FaultTally
    ) {
        (self.seed, ports, poison, self.signer, self.clock) = (seed, installation.ports, installation.poison, signer, clock)
        (self.pacer, self.postLog, self.tally) = (pacer, postLog, tally)
        generator = SeededGenerator(seed: seed &+ UInt64(number) &* 0xd1b5_4a32_d192_ed03)
    }

    /// The point at which a sender closes its connection.
    private enum Abort: CaseIterable {
        case inHead, inBody, beforeAnswer
    }

    mutating func run() throws {
        while let number = pacer.nextSegment() {
            var segment = try LoadSegment(seed: seed, number: number)
            for draft in segment.drafts() {
                pacer.throttle()
                if let post = try segment.post(draft, signer: signer, clock: clock) { try deliver(post) }
            }
        }
    }

    /// Posts one body until it is accepted often enough, refused with a 4xx, or given up.
    private mutating func deliver(_ post: LoadSegment.Post) throws {
        let digest = BodyDigest(of: post.body)
        var (accepted, attempts) = (0, 0)
        while accepted < post.copies, !pacer.wasEnded {
            if oneIn(5) {
                try abort(post, digest, isRetry: attempts > 0)
                // Most senders retry; one that does not is not Apple.
                if oneIn(10) { return postLog.abandoned() }
            } else if let status = try exchange(post, digest, isRetry: attempts > 0) {
                if status == 200 { accepted += 1 }
                if status == 503 { wait(100...900) }
                if (400..<500).contains(status) { return }
            }
            attempts = accepted > 0 ? 0 : attempts + 1
        }
    }

    /// Makes one whole attempt; nil without an answer.
    private mutating func exchange(_ post: LoadSegment.Post, _ digest: BodyDigest, isRetry: Bool) throws -> Int? {
        guard let connection = try connect() else { return nil }
        postLog.sending(digest, post.record, isRetry: isRetry)
        do {
            let answer = try connection.exchange(
                "POST",
                HTTPClient.notifications,
                fields: ["content-type": "application/json"],
                body: post.body
            )
            postLog.answered(digest, status: answer.status)
            if answer.status == 200, poison.matches(post.record) { tally.count(.poisonAccepted) }
            if answer.fields["connection"] == "close" { self.connection = nil }
            return answer.status
        } catch is NoAnswer {
            postLog.unanswered()
            self.connection = nil
            wait(10...100)
            return nil
        }
    }

    /// Makes one attempt and closes the connection before the answer.
    private mutating func abort(_ post: LoadSegment.Post, _ digest: BodyDigest, isRetry: Bool) throws {
        guard let connection = try connect() else { return }
        let fields = ["host: a", "content-type: application/json", "content-length: \(post.body.count)"]
        let head = Array("POST \(HTTPClient.notifications) HTTP/1.1\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n".utf8)
        switch Abort.allCases.randomElement(using: &generator) ?? .beforeAnswer {
        case .inHead: connection.send(Array(head.prefix(Int.random(in: 0..<head.count, using: &generator))))
        case .inBody: connection.send(head + post.body.prefix(Int.random(in: 0..<post.body.count, using: &generator)))
        case .beforeAnswer:
            postLog.sending(digest, post.record, isRetry: isRetry)
            connection.send(head + post.body)
            if oneIn(2) { wait(0...8) }
        }
        self.connection = nil
        tally.count(.senderAborted)
    }

    private mutating func connect() throws -> HTTPConnection? {
        if let connection { return connection }
        do {
            connection = try HTTPConnection(port: ports.randomElement(using: &generator) ?? ports[0])
        } catch is NoAnswer {
            // Connection refused: the daemon is restarting.
            wait(10...100)
        }
        return connection
    }

    private mutating func wait(_ milliseconds: ClosedRange<Int32>) {
        _ = poll(nil, 0, Int32.random(in: milliseconds, using: &generator))
    }

    private mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
}

import EndToEndTesting
import Foundation
import Glibc
import Randomness
import StoreSimulator

/// Posts chapter after chapter on a thread of its own, as Apple's servers do: again and again until it is answered with 200.
struct Sender {
    let seed: UInt64
    let ports: [Int]
    let signer: NotificationSigner
    let clock: StoreClock
    let pacer: Pacer
    let diary: Diary
    let tally: FaultTally
    let poison: Poison
    private var connection: HTTPConnection?
    private var generator: SeededGenerator

    /// - Parameter number: another one gives another sender, with its own moods.
    init(
        _ number: Int,
        seed: UInt64,
        site: Site,
        signer: NotificationSigner,
        clock: StoreClock,
        pacer: Pacer,
        diary: Diary,
        tally: FaultTally
    ) {
        (self.seed, ports, poison, self.signer, self.clock) = (seed, site.ports, site.poison, signer, clock)
        (self.pacer, self.diary, self.tally) = (pacer, diary, tally)
        generator = SeededGenerator(seed: seed &+ UInt64(number) &* 0xd1b5_4a32_d192_ed03)
    }

    /// How a sender does not get to hear an answer.
    private enum Abort: CaseIterable {
        case inHead, inBody, beforeAnswer
    }

    mutating func run() throws {
        while let number = pacer.chapter() {
            var chapter = try Chapter(seed: seed, number: number)
            for draft in chapter.drafts() {
                pacer.holdBack()
                if let post = try chapter.post(draft, signer: signer, clock: clock) { try deliver(post) }
            }
        }
    }

    /// Posts one body until it was taken as often as it is to be, or refused for good, or its sender lost interest.
    private mutating func deliver(_ post: Chapter.Post) throws {
        let digest = BodyDigest(of: post.body)
        var (taken, attempts) = (0, 0)
        while taken < post.copies, !pacer.wasEnded {
            if oneIn(5) {
                try abort(post, digest, isRetry: attempts > 0)
                // Most come back, and those that do not are not Apple.
                if oneIn(10) { return diary.abandoned() }
            } else if let status = try exchange(post, digest, isRetry: attempts > 0) {
                if status == 200 { taken += 1 }
                if status == 503 { wait(100...900) }
                if (400..<500).contains(status) { return }
            }
            attempts = taken > 0 ? 0 : attempts + 1
        }
    }

    /// One whole attempt; nil when there was no answer.
    private mutating func exchange(_ post: Chapter.Post, _ digest: BodyDigest, isRetry: Bool) throws -> Int? {
        guard let connection = try connect() else { return nil }
        diary.sending(digest, post.record, isRetry: isRetry)
        do {
            let answer = try connection.exchange(
                "POST",
                HTTPClient.notifications,
                fields: ["content-type": "application/json"],
                body: post.body
            )
            diary.answered(digest, status: answer.status)
            if answer.status == 200, poison.holds(post.record) { tally.count(.poisonTaken) }
            if answer.fields["connection"] == "close" { self.connection = nil }
            return answer.status
        } catch is NoAnswer {
            diary.unanswered()
            self.connection = nil
            wait(10...100)
            return nil
        }
    }

    /// One attempt that ends with a closed connection at some point before the answer.
    private mutating func abort(_ post: Chapter.Post, _ digest: BodyDigest, isRetry: Bool) throws {
        guard let connection = try connect() else { return }
        let fields = ["host: a", "content-type: application/json", "content-length: \(post.body.count)"]
        let head = Array("POST \(HTTPClient.notifications) HTTP/1.1\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n".utf8)
        switch Abort.allCases.randomElement(using: &generator) ?? .beforeAnswer {
        case .inHead: connection.send(Array(head.prefix(Int.random(in: 0..<head.count, using: &generator))))
        case .inBody: connection.send(head + post.body.prefix(Int.random(in: 0..<post.body.count, using: &generator)))
        case .beforeAnswer:
            diary.sending(digest, post.record, isRetry: isRetry)
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
            // Nobody listens at this moment.
            wait(10...100)
        }
        return connection
    }

    private mutating func wait(_ milliseconds: ClosedRange<Int32>) {
        _ = poll(nil, 0, Int32.random(in: milliseconds, using: &generator))
    }

    private mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }
}

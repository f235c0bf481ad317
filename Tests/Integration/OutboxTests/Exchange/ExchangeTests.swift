import AppStore
import StoreSimulator
import StoreSimulatorServer
import StrictJSON
import Testing

@testable import Outbox

/// The outcome of a request for each behaviour of the server.
@Suite(.timeLimit(.minutes(2)))
struct ExchangeTests {
    private static let longTimeout = Duration.seconds(60)

    private func request(_ address: String, atMost bytes: Int = 4_194_304) -> OutboundRequest {
        let question: JSONObject = ["receipt-data": .string(Simulated.receiptData), "password": .string(Simulated.secret)]
        return OutboundRequest(.post, address, body: JSONSerializer.serialize(question), maximumAnswerBytes: bytes)
    }

    /// Sends a request to a server that handles it with `step`.
    private func outcome(
        _ step: VerifyReceiptScript.Step,
        within timeout: Duration = longTimeout,
        atMost bytes: Int = 4_194_304
    ) async throws -> ExchangeOutcome {
        let server = try await Simulated.server(Simulated.store(steps: [step]))
        let address = try #require(server.address(of: .production))
        let outcome = try await Exchange.withClient(.init()) { await $0.send(request(address, atMost: bytes), timeout: timeout) }
        #expect(server.received.count == 1)
        await server.stop()
        return outcome
    }

    @Test func `an answer arrives unchanged`() async throws {
        let answer = try #require(await outcome(.answer).answer)
        #expect(answer.status == 200 && answer.retryAfter == nil)
        #expect(try VerifyReceiptResponse(JSONParser().parseObject(answer.body)).status == .valid)
    }

    @Test func `a page of HTML is an answer`() async throws {
        let answer = try #require(await outcome(.page(status: 503)).answer)
        #expect(answer.status == 503 && answer.body.starts(with: Array("<html>".utf8)))
    }

    @Test func `a redirect is not followed`() async throws {
        let other = try await Simulated.server(Simulated.store())
        let address = try #require(other.address(of: .production))
        let answer = try #require(await outcome(.redirect(to: address)).answer)
        #expect(answer.status == 302 && other.received == [])
        await other.stop()
    }

    @Test(arguments: ["7", "1893456000000", "soon"])
    func `the fields that tell when to ask again arrive as they were sent`(text: String) async throws {
        let answer = try #require(await outcome(.busy(retryAfter: text)).answer)
        #expect(answer.status == 429 && answer.retryAfter == text)
    }

    @Test func `a server that does not answer fails the request after its timeout`() async throws {
        #expect(try await outcome(.answer.by(.whenReleased), within: .milliseconds(200)).failure == .timedOut)
    }

    @Test func `an answer that trickles in fails the request after its timeout`() async throws {
        #expect(try await outcome(.answer.by(.trickling(every: .milliseconds(20))), within: .milliseconds(500)).failure == .timedOut)
    }

    @Test func `an incomplete answer is a failure`() async throws {
        #expect(try await outcome(.answer.by(.cut(after: 100))).failure == .connectionFailed)
        #expect(try await outcome(.answer.by(.cut(after: 0))).failure == .connectionFailed)
    }

    @Test func `a reset connection is a failure, and the request is not retried`() async throws {
        #expect(try await outcome(.answer.by(.reset)).failure == .connectionFailed)
    }

    @Test func `an answer that is announced as too large is refused, and so is one that grows too large`() async throws {
        #expect(try await outcome(.large(5 * 1024 * 1024)).failure == .answerTooLarge)
        #expect(try await outcome(.answer.by(.trickling(every: .milliseconds(1))), atMost: 10).failure == .answerTooLarge)
    }

    @Test func `an answer of exactly the limit is accepted`() async throws {
        #expect(try await outcome(.large(1000), atMost: 1000).answer?.body.count == 1000)
        #expect(try await outcome(.large(1001), atMost: 1000).failure == .answerTooLarge)
    }

    @Test func `a closed port is a failure`() async throws {
        let server = try await Simulated.server(Simulated.store())
        let address = try #require(server.address(of: .production))
        await server.stop()
        let outcome = try await Exchange.withClient(.init()) { await $0.send(request(address), timeout: Self.longTimeout) }
        #expect(outcome.failure == .connectionFailed)
    }

    @Test(arguments: ["", "verifyReceipt", "//localhost/", "https:///verifyReceipt"])
    func `a malformed address is a failure`(address: String) async throws {
        let outcome = try await Exchange.withClient(.init()) { await $0.send(request(address), timeout: Self.longTimeout) }
        #expect(outcome.failure == .invalidAddress)
    }

    @Test(arguments: [1000, 8192, 8193, 65_536, 150_000, 1_000_000])
    func `an address of more than 8192 bytes is a failure, and nothing is sent`(size: Int) async throws {
        let server = try await Simulated.server(Simulated.store(steps: [.answer]))
        let address = try #require(server.address(of: .production)) + "?q="
        let url = address + String(repeating: "x", count: size - address.utf8.count)
        let outcome = try await Exchange.withClient(.init()) { await $0.send(request(url), timeout: Self.longTimeout) }
        #expect(size > 8192 ? outcome.failure == .invalidAddress : outcome.answer != nil)
        #expect(server.received.count == (size > 8192 ? 0 : 1))
        await server.stop()
    }

    @Test func `a cancelled request fails as shutting down`() async throws {
        let server = try await Simulated.server(Simulated.store(steps: [.answer.by(.whenReleased)]))
        let address = try #require(server.address(of: .production))
        let outcome = try await Exchange.withClient(.init()) { exchange in
            let request = request(address)
            let task = Task { await exchange.send(request, timeout: Self.longTimeout) }
            for await _ in server.requests { break }
            task.cancel()
            return await task.value
        }
        #expect(outcome.failure == .shuttingDown)
        await server.stop()
    }
}

extension ExchangeOutcome {
    var answer: HTTPAnswer? {
        if case .answer(let answer) = self { answer } else { nil }
    }

    var failure: ExchangeFailure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}

import HTTPRequesting
import NIOHTTP1
import Outbox
import Testing

@testable import Commands
@testable import Feed

/// No status that a server answers with ends the process, and each is an answer or a failure for each client of this program.
@Suite(.timeLimit(.minutes(5)))
struct StatusTests {
    /// Every status of three digits. A status 1xx comes before a 204.
    private static func withEachStatus(_ test: (_ url: String, _ status: Int, _ expected: Int?) async throws -> Void) async throws {
        try await RawServer.with({ RawServer.Reply(answer($0 % 1000)) }) { server in
            for status in 0...999 {
                try await test(server.url, status, expected(status))
                // A connection with such an answer is not used again, and no request is repeated.
                #expect(server.requests == status + 1)
            }
        }
    }

    private static func answer(_ status: Int) -> String {
        let digits = String(status)
        let head = "HTTP/1.1 \(String(repeating: "0", count: 3 - digits.count))\(digits) X\r\n"
        return isInterim(status) ? "\(head)\r\nHTTP/1.1 204 X\r\n\r\n" : "\(head)Content-Length: 0\r\n\r\n"
    }

    /// 101 would change the protocol, which no client has asked for.
    private static func isInterim(_ status: Int) -> Bool { (100...199).contains(status) && status != 101 }

    private static func expected(_ status: Int) -> Int? {
        isInterim(status) ? 204 : (200...599).contains(status) ? status : nil
    }

    @Test(arguments: [HTTPMethod.GET, .POST, .PUT]) func `of a request`(method: HTTPMethod) async throws {
        let client = try DirectClient(tls: nil)
        defer { client.close() }
        try await Self.withEachStatus { url, status, expected in
            let body = method == .GET ? [] : Array("{}".utf8)
            let request = HTTPRequest(method, try HTTPAddress(url), body: body, maximumBytes: 1000)
            do throws(ExchangeError) {
                #expect(try await client.send(request, timeout: .seconds(60)).status == expected)
            } catch {
                #expect(expected == nil && error.kind == .invalidAnswer, "\(status): \(error)")
            }
        }
    }

    /// The Server API asks and tells by GET, POST and PUT, verifyReceipt and OCSP by POST.
    @Test(arguments: [OutboundRequest.Method.get, .post, .put])
    func `of Apple's servers and OCSP responders`(method: OutboundRequest.Method) async throws {
        try await Exchange.withClient(.init()) { exchange in
            try await Self.withEachStatus { url, status, expected in
                let request = OutboundRequest(method, url, body: method == .get ? [] : [48], maximumAnswerBytes: 1000)
                switch await exchange.send(request, timeout: .seconds(60)) {
                case .answer(let answer): #expect(answer.status == expected)
                case .failure(let failure): #expect(expected == nil && failure == .answerMalformed, "\(status): \(failure)")
                }
            }
        }
    }

    @Test func `of the receiver of a webhook`() async throws {
        let exchange = try EndpointExchange(WebhookService.Configuration())
        defer { exchange.close() }
        try await Self.withEachStatus { url, status, expected in
            let request = DeliveryRequest(url: try EndpointURL(url), headers: [], body: [1], timeout: .seconds(60))
            switch await exchange.send(request) {
            case .answered(let answer): #expect(answer.status == expected)
            case .failed(let text): #expect(expected == nil && text == "the answer has the status \(status), which does not exist")
            case let other: Issue.record("\(status): \(other)")
            }
        }
    }

    @Test func `of what the doctor asks`() async throws {
        try await Self.withEachStatus { url, status, expected in
            let address = try #require(PublicURL(url)).address
            do throws(HTTPProbe.NoAnswer) {
                #expect(try await HTTPProbe.send(.POST, address, body: "{}").status == expected)
            } catch {
                #expect(expected == nil && "\(error)" == "the answer has the status \(status), which does not exist")
            }
        }
    }

    @Test func `of the ingest to which bodies are posted again`() async throws {
        try await Self.withEachStatus { url, status, expected in
            try await NotificationPost.withPost(to: url) { post in
                do throws(NotificationPost.NoAnswer) {
                    #expect(try await post.send(Array("{}".utf8)).status == expected)
                } catch {
                    #expect(expected == nil && "\(error)".hasSuffix("the answer has the status \(status), which does not exist"))
                }
            }
        }
    }
}

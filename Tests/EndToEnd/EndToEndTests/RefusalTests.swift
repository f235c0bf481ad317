import EndToEndTesting
import Foundation
import Postgres
import Testing

extension EndToEnd {
    /// Bodies that ingest refuses.
    @Suite struct RefusalTests {
        struct Refusal: Sendable, CustomTestStringConvertible {
            var testDescription: String
            var method = "POST"
            var path = HTTPClient.notifications
            var fields = ["content-type": "application/json"]
            var body: [UInt8]
            var status: Int
            var problem: String
        }

        private static let secret = "WhatOnlyTheBodySays"
        private static func padded(to count: Int) -> [UInt8] {
            let (head, tail) = (Array(#"{"signedPayload":"YQ.YQ.YQ","padding":""#.utf8), Array(#""}"#.utf8))
            return head + [UInt8](repeating: UInt8(ascii: "x"), count: count - head.count - tail.count) + tail
        }

        static let refusals = [
            Refusal(testDescription: "nothing", body: [], status: 400, problem: "not-json"),
            Refusal(testDescription: "no JSON", body: Array("signedPayload=\(secret)".utf8), status: 400, problem: "not-json"),
            Refusal(testDescription: "bytes", body: (0...255).map { UInt8($0) }, status: 400, problem: "not-json"),
            Refusal(
                testDescription: "a truncated body",
                body: Array(#"{"signedPayload":"\#(secret)"#.utf8),
                status: 400,
                problem: "not-json"
            ),
            Refusal(testDescription: "an array", body: Array(#"["\#(secret)"]"#.utf8), status: 400, problem: "not-an-object"),
            Refusal(
                testDescription: "deep JSON",
                body: [UInt8](repeating: UInt8(ascii: "["), count: 100_000),
                status: 400,
                problem: "not-json"
            ),
            Refusal(testDescription: "another object", body: Array(#"{"\#(secret)":1}"#.utf8), status: 400, problem: "no-signed-payload"),
            Refusal(testDescription: "a number", body: Array(#"{"signedPayload":1}"#.utf8), status: 400, problem: "no-signed-payload"),
            Refusal(testDescription: "two parts", body: Array(#"{"signedPayload":"YQ.YQ"}"#.utf8), status: 400, problem: "not-compact-jws"),
            Refusal(
                testDescription: "an empty part",
                body: Array(#"{"signedPayload":"YQ..YQ"}"#.utf8),
                status: 400,
                problem: "not-compact-jws"
            ),
            Refusal(
                testDescription: "other characters",
                body: Array(#"{"signedPayload":"YQ.Y=.YQ"}"#.utf8),
                status: 400,
                problem: "not-compact-jws"
            ),
            Refusal(testDescription: "a body one byte too long", body: padded(to: 262_145), status: 413, problem: "content-too-large"),
            Refusal(testDescription: "megabytes", body: padded(to: 8 << 20), status: 413, problem: "content-too-large"),
            Refusal(
                testDescription: "a form",
                fields: ["content-type": "text/plain"],
                body: padded(to: 99),
                status: 415,
                problem: "unsupported-media-type"
            ),
            Refusal(
                testDescription: "a compressed body",
                fields: ["content-type": "application/json", "content-encoding": "gzip"],
                body: padded(to: 99),
                status: 415,
                problem: "content-encoding-refused"
            ),
            Refusal(testDescription: "PUT", method: "PUT", body: padded(to: 99), status: 405, problem: "method-not-allowed"),
            Refusal(
                testDescription: "another path",
                path: "/apple/v3/notifications",
                body: padded(to: 99),
                status: 404,
                problem: "not-found"
            ),
        ]

        @Test func `a body that is no notification is refused and not stored`() async throws {
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                for refusal in Self.refusals {
                    let answer = try await ingest.client.connected {
                        try $0.exchange(refusal.method, refusal.path, fields: refusal.fields, body: refusal.body)
                    }
                    #expect((answer.status, answer.problem) == (refusal.status, refusal.problem), "\(refusal.testDescription)")
                    #expect(!String(decoding: answer.body, as: UTF8.self).contains(Self.secret), "\(refusal.testDescription)")
                }
                #expect(try await installation.books.value(Int.self, "SELECT count(*) FROM appstore.inbox") == 0)
                #expect(!ingest.daemon.log.contains(Self.secret))
                #expect(try await ingest.client.post(Self.padded(to: 262_144)).status == 200, "the largest accepted body")
                #expect(try await ingest.daemon.terminate() == .exit(0))
            }
        }

        @Test func `a body above the limit is refused before it is read`() async throws {
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                let answer = try await ingest.client.connected { connection in
                    let head =
                        "POST \(HTTPClient.notifications) HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9000000000\r\n\r\n"
                    connection.send(Array(head.utf8))
                    return try connection.answer()
                }
                #expect(answer.status == 413)
            }
        }
    }
}

import EndToEndTesting
import Foundation
import Postgres
import Testing

extension EndToEndInterfaces {
    /// Bodies that ingest refuses.
    @Suite struct RefusalTests {
        private static let secret = "WhatOnlyTheBodySays"

        private static func padded(to count: Int) -> [UInt8] {
            let (head, tail) = (Array(#"{"signedPayload":"YQ.YQ.YQ","padding":""#.utf8), Array(#""}"#.utf8))
            return head + [UInt8](repeating: UInt8(ascii: "x"), count: count - head.count - tail.count) + tail
        }

        private static let bodies: [(body: [UInt8], status: Int, problem: String)] = [
            ([], 400, "not-json"), (Array("signedPayload=\(secret)".utf8), 400, "not-json"), ((0...255).map { UInt8($0) }, 400, "not-json"),
            (Array(#"{"signedPayload":"\#(secret)"#.utf8), 400, "not-json"),
            ([UInt8](repeating: UInt8(ascii: "["), count: 100_000), 400, "not-json"),
            (Array(#"["\#(secret)"]"#.utf8), 400, "not-an-object"), (Array(#"{"\#(secret)":1}"#.utf8), 400, "no-signed-payload"),
            (Array(#"{"signedPayload":"YQ.\#(secret)"}"#.utf8), 400, "not-compact-jws"),
            (padded(to: 262_145), 413, "content-too-large"), (padded(to: 8 << 20), 413, "content-too-large"),
        ]

        @Test func `a body that is no notification is refused, and neither stored, logged nor repeated`() async throws {
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                for (body, status, problem) in Self.bodies {
                    let answer = try await ingest.client.post(body)
                    #expect((answer.status, answer.problem) == (status, problem), "\(String(decoding: body.prefix(80), as: UTF8.self))")
                    #expect(!String(decoding: answer.body, as: UTF8.self).contains(Self.secret), "\(problem)")
                }
                #expect(try await installation.sql.value(Int.self, "SELECT count(*) FROM appstore.inbox") == 0)
                #expect(!ingest.daemon.log.contains(Self.secret))
                #expect(try await ingest.client.post(Self.padded(to: 262_144)).status == 200, "the largest accepted body")
                #expect(try await ingest.daemon.terminate() == .exit(0))
            }
        }
    }
}

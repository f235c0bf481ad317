import AppStore
import Foundation
import Testing

@testable import Commands

struct FileBodiesTests {
    private static let body = #"{"signedPayload":"YQ.YQ.YQ"}"#

    @Test func `one JSON object over many lines is one body`() async throws {
        let text = "\n{\n  \"signedPayload\":\n    \"YQ.YQ.YQ\"\n}\n"
        #expect(try await read(text) == ["1 " + text.trimmingCharacters(in: .whitespacesAndNewlines)])
    }

    @Test(arguments: [0, 1, 2, 1000])
    func `each line of a file with several objects is one body`(count: Int) async throws {
        let lines = (0..<count).map { #"{"signedPayload":"YQ.YQ.YQ","number":\#($0)}"# }
        let numbered = lines.enumerated().map { "\($0 + 1) \($1)" }
        #expect(try await read(lines.joined(separator: "\n")) == numbered)
        #expect(try await read(lines.joined(separator: "\r\n") + "\r\n") == numbered)
    }

    @Test func `blank lines are counted and skipped`() async throws {
        #expect(try await read("\n\(Self.body)\n\n  \n\(Self.body)\n") == ["2 \(Self.body)", "5 \(Self.body)"])
    }

    @Test func `a line that is not a notification is reported with the reason, and the others are read`() async throws {
        let text = ["{", "[]", "{}", #"{"signedPayload":"a.b"}"#, "\u{0}", Self.body].joined(separator: "\n")
        #expect(
            try await read(text) == [
                "1 no notification: not_json", "2 no notification: not_an_object", "3 no notification: no_signed_payload",
                "4 no notification: not_a_compact_jws", "5 no notification: not_json", "6 \(Self.body)",
            ]
        )
    }

    @Test func `a notification V1 can be posted only with its secret`() async throws {
        let bodies = [#"{"notification_type":"CANCEL","password":"p"}"#, #"{"p\u0061ssword":"p","notification_type":"NEW","bid":"x"}"#]
        let blanked = [
            #"{"notification_type":"CANCEL","password":""}"#, #"{"notification_type":"CANCEL"}"#,
            #"{"notification_type":"CANCEL","password":1}"#,
        ]
        // Apple sends those to the address of V1, but they are not.
        let other = [
            #"{"signedPayload":"YQ.YQ.YQ","notification_type":"CANCEL","password":""}"#, #"{"signedPayload":"a.b","password":"p"}"#,
        ]
        let reason = "a notification V1 without its shared secret, as the inbox keeps it: use appstore.requeue_event with its event"
        #expect(
            try await read((bodies + blanked + other).joined(separator: "\n")) == [
                "1 V1 \(bodies[0])", "2 V1 \(bodies[1])", "3 \(reason)", "4 \(reason)", "5 \(reason)", "6 \(other[0])",
                "7 no notification: not_a_compact_jws",
            ]
        )
        #expect(try await read("{\n" + bodies[0].dropFirst()) == ["1 V1 {\n" + bodies[0].dropFirst()])
    }

    @Test(arguments: [
        ("http://h/apple/v2/notifications", "/apple/v2/notifications", "/apple/v1/notifications"),
        ("http://h:1/shop/apple/v2/notifications", "/shop/apple/v2/notifications", "/shop/apple/v1/notifications"),
        ("http://h/apple/v1/notifications", "/apple/v1/notifications", "/apple/v1/notifications"), ("http://h", "/", "/"),
        ("http://h/apple/v2/notifications/x", "/apple/v2/notifications/x", "/apple/v2/notifications/x"),
    ])
    func `a notification V1 goes to ingest's path for V1, or to the URL's own path`(url: String, path: String, legacy: String) throws {
        #expect(NotificationPost.path(of: url, for: .notificationV2) == path)
        #expect(NotificationPost.path(of: url, for: .notificationV1) == legacy)
    }

    @Test func `a line above the limit is skipped without being kept in memory`() async throws {
        let long = #"{"signedPayload":""# + String(repeating: "a", count: FileBodies.limit) + #""}"#
        let text = [Self.body, long, long, Self.body].joined(separator: "\n")
        let reason = "longer than \(FileBodies.limit) bytes"
        #expect(try await read(text) == ["1 \(Self.body)", "2 \(reason)", "3 \(reason)", "4 \(Self.body)"])
        #expect(try await read(long) == ["1 \(reason)"])
    }

    @Test(arguments: [1, 2, 3, 4])
    func `reading can start at any line`(start: Int) async throws {
        let lines = (1...3).map { #"{"signedPayload":"YQ.YQ.YQ","number":\#($0)}"# }
        let numbered = lines.enumerated().map { "\($0 + 1) \($1)" }
        #expect(try await read(lines.joined(separator: "\n"), startLine: start) == Array(numbered.dropFirst(start - 1)))
    }

    @Test(arguments: ["/nowhere/at/all.ndjson", "/"])
    func `a file that cannot be read is named`(path: String) async throws {
        let error = await #expect(throws: InputFile.Unreadable.self) {
            var bodies = try FileBodies(path: path, startLine: 1)
            _ = try await bodies.next()
        }
        #expect(error?.description.hasPrefix("\(path): cannot be read: ") == true)
    }

    /// `line body` or `line reason` of each.
    private func read(_ text: String, startLine: Int = 1) async throws -> [String] {
        let file = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-bodies-\(UUID().uuidString)")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var bodies = try FileBodies(path: file.path, startLine: startLine)
        var read: [String] = []
        while let item = try await bodies.next() {
            guard case .line(let line) = item.origin else { continue }
            switch item.content {
            case .body(let body, let kind):
                read.append("\(line) \(kind == .notificationV1 ? "V1 " : "")\(String(decoding: body, as: UTF8.self))")
            case .none(let reason): read.append("\(line) \(reason)")
            }
        }
        return read
    }
}

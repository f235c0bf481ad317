import AppStore
import Foundation
import RandomJSON
import Randomness
import StrictJSON
import Testing

struct NotificationV1BodyTests {
    @Test(
        arguments: [
            (#"{"notification_type":"CANCEL","password":"secret"}"#, #"{"notification_type":"CANCEL","password":""}"#, ["secret"]),
            (
                #"{ "pass\u0077ord" : "a\"b\u00e9" ,"notification_type":"X"} "#, #"{ "pass\u0077ord" : "" ,"notification_type":"X"} "#,
                ["a\"bé"]
            ),
            (
                #"{"password":"one","notification_type":"X","\u0070assword":"two","password":{"a":["three"]},"password":4}"#,
                #"{"password":"","notification_type":"X","\u0070assword":"","password":"","password":""}"#, ["one", "two"]
            ),
            (#"{"notification_type":"X","a":{"password":"inner"}}"#, #"{"notification_type":"X","a":{"password":"inner"}}"#, []),
            (#"{"notification_type":"X","Password":"other"}"#, #"{"notification_type":"X","Password":"other"}"#, []),
            (#"{"notification_type":"X","password":""}"#, #"{"notification_type":"X","password":""}"#, [""]),
            (#"{"notification_type":"X","password":null}"#, #"{"notification_type":"X","password":""}"#, []),
        ] as [(String, String, [String])]
    ) func `only the values of the outermost passwords are removed`(body: String, kept: String, secrets: [String]) throws {
        let read = try NotificationV1Body(Array(body.utf8))
        #expect(String(decoding: read.bytes, as: UTF8.self) == kept)
        #expect(read.secrets == secrets.map { Array($0.utf8) })
        #expect(read.kind == .notificationV1)
    }

    @Test(
        arguments: [
            (#""bid":"a.b""#, "a.b"), (#""b\u0069d":"a.b""#, "a.b"), (#""bid":"a.b","bid":"c.d""#, "a.b"), (#""bid":7,"bid":"c.d""#, "c.d"),
            (#""bid":"""#, nil), (#""bid":null"#, nil), (#""BID":"a.b""#, nil), (#""x":{"bid":"a.b"}"#, nil),
        ] as [(String, String?)]
    ) func `the app is named by the outermost object`(member: String, bundleID: String?) throws {
        let body = Array(#"{"notification_type":"X",\#(member)}"#.utf8)
        #expect(try NotificationV1Body(body).bundleID == bundleID)
        #expect(try body.withUnsafeBytes { try NotificationV1Body($0) }.bundleID == bundleID)
        #expect(try NotificationV1Body(body).bytes == body)
    }

    @Test func `passwords that are not strings are counted too`() throws {
        let body = try NotificationV1Body(Array(#"{"notification_type":"X","password":"p","p\u0061ssword":[1],"password":2}"#.utf8))
        #expect(body.passwordCount == 3)
        #expect(body.secrets == [Array("p".utf8)])
    }

    @Test(
        arguments: [
            ("", NotificationV1Body.Refusal.notJSON), ("{", .notJSON), (#"{"notification_type":"X"}x"#, .notJSON), ("[]", .notAnObject),
            (#""password""#, .notAnObject), ("{}", .noNotificationType), (#"{"notification_type":1}"#, .noNotificationType),
            (#"{"password":"\ud800","notification_type":"X"}"#, .notJSON), (#"{"password":"s"}"#, .noNotificationType),
            (#"{"notification_type":"X","a":\#(String(repeating: "[", count: 40) + String(repeating: "]", count: 40))}"#, .notJSON),
        ] as [(String, NotificationV1Body.Refusal)]
    ) func `a body that is not a notification is refused`(body: String, refusal: NotificationV1Body.Refusal) {
        #expect(throws: refusal) { try NotificationV1Body(Array(body.utf8)) }
    }

    @Test func `a notification V2 is recognised, and its passwords are removed too`() throws {
        let body = try NotificationV1Body(Array(#"{"signedPayload":"a.b.c","password":"p"}"#.utf8))
        #expect(body.kind == .notificationV2 && String(decoding: body.bytes, as: UTF8.self) == #"{"signedPayload":"a.b.c","password":""}"#)
    }

    @Test func `a truncated body is refused`() {
        let body = Array(#"{"notification_type":"X","password":"p\u0061","a":[1.5e3,{"b":null}]}"#.utf8)
        for count in body.indices { #expect(throws: NotificationV1Body.Refusal.self) { try NotificationV1Body(Array(body[..<count])) } }
    }

    @Test func `printing a body discloses no secret`() throws {
        let body = try NotificationV1Body(Array(#"{"notification_type":"X","password":"top secret"}"#.utf8))
        var dumped = ""
        dump(body, to: &dumped)
        for text in ["\(body)", String(reflecting: body), dumped, "\([body])", "\(Optional(body) as Any)"] {
            #expect(!text.contains("top secret") && !text.contains("116, 111, 112"), "\(text)")
        }
    }

    @Test(arguments: 1...30) func `all bytes except the secrets are kept`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<50 {
            let secret = "~secret\(generator.next())~"
            var members = (0..<5).map { ("m\($0)" + generator.text(), generator.looseText(of: generator.value(depth: 3))) }
            members.insert((#"notification_type"#, #""X""#), at: .random(in: 0...5, using: &generator))
            let quoted = members.map { (String(decoding: JSONSerializer.serialize(.string($0.0)), as: UTF8.self), $0.1) }
            let place = Int.random(in: 0...quoted.count, using: &generator)
            let name = generator.looseText(of: "password").trimmingCharacters(in: .whitespaces.union(.newlines))
            let texts = quoted.map { "\($0.0):\($0.1)" }
            func body(_ value: String) -> [UInt8] {
                Array("{\((texts[..<place] + ["\(name):\(value)"] + texts[place...]).joined(separator: ","))}".utf8)
            }
            let read = try NotificationV1Body(body("\"\(secret)\""))
            #expect(read.bytes == body("\"\""), "seed \(seed)")
            #expect(read.secrets == [Array(secret.utf8)], "seed \(seed)")
            #expect(throws: Never.self, "seed \(seed)") { try JSONParser().parseObject(read.bytes) }
        }
    }

    @Test(
        arguments: [
            (#"{"notification_type":"X","latest_receipt_info":{"a":[1,{"bid":"no"}],"bid":"inner"}}"#, "inner"),
            (#"{"notification_type":"X","latest_expired_receipt_info":{"bid":"inner"},"bid":"outer"}"#, "outer"),
            (#"{"notification_type":"X","latest_receipt_info":{},"latest_expired_receipt_info":{"bid":"inner"}}"#, "inner"),
            (#"{"notification_type":"X","latest_receipt_info":[{"bid":"no"}],"unified_receipt":{"bid":"no"}}"#, nil),
            (#"{"notification_type":"X","latest_receipt_info":{"bid":7}}"#, nil),
        ] as [(String, String?)]
    ) func `the app is named by the outermost object or, until 2019, by the purchase`(text: String, bundleID: String?) throws {
        #expect(try NotificationV1Body(Array(text.utf8)).bundleID == bundleID)
    }
}

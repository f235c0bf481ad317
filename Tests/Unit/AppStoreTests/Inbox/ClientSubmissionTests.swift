import AppStore
import Testing

struct ClientSubmissionTests {
    private static let jws = "eyJh.eyJi.c2ln"

    @Test(arguments: [nil, "anna", String(repeating: "é", count: 127)] as [String?], [nil, [], ["com.example.app", "b"]] as [[String]?])
    func `a written body can be read`(user: String?, bundleIDs: [String]?) throws {
        let submission = try ClientSubmission(
            signedTransaction: Self.jws,
            user: user,
            environment: .sandbox,
            bundleIDs: bundleIDs
        )
        #expect(try ClientSubmission(body: submission.body) == submission)
    }

    @Test func `equal values are written as equal bytes`() throws {
        let submission = try ClientSubmission(
            signedTransaction: Self.jws,
            user: "anna",
            environment: .production,
            bundleIDs: ["com.example.app"]
        )
        let text = #"{"signedTransaction":"\#(Self.jws)","user":"anna","environment":"Production","bundleIds":["com.example.app"]}"#
        #expect(String(decoding: submission.body, as: UTF8.self) == text)
    }

    @Test(
        arguments: [
            ("", .notAnObject), ("[]", .notAnObject), (#"{"environment":"Sandbox"}"#, .noSignedTransaction),
            (#"{"signedTransaction":7,"environment":"Sandbox"}"#, .noSignedTransaction),
            (#"{"signedTransaction":"a.b","environment":"Sandbox"}"#, .notACompactJWS),
            (#"{"signedTransaction":"a.b.c d","environment":"Sandbox"}"#, .notACompactJWS),
            (#"{"signedTransaction":"a.b.c"}"#, .environment), (#"{"signedTransaction":"a.b.c","environment":null}"#, .environment),
            (#"{"signedTransaction":"a.b.c","environment":"Sandbox","user":7}"#, .user),
            (#"{"signedTransaction":"a.b.c","environment":"Sandbox","user":""}"#, .user),
            (#"{"signedTransaction":"a.b.c","environment":"Sandbox","user":"a\u0000"}"#, .user),
            (#"{"signedTransaction":"a.b.c","environment":"Sandbox","bundleIds":"a"}"#, .bundleIDs),
            (#"{"signedTransaction":"a.b.c","environment":"Sandbox","bundleIds":[7]}"#, .bundleIDs),
        ] as [(String, ClientSubmission.Malformed)]
    )
    func `a malformed body is refused with its reason`(body: String, reason: ClientSubmission.Malformed) {
        #expect(throws: reason) { try ClientSubmission(body: Array(body.utf8)) }
    }

    @Test func `a user has at most 255 characters`() {
        #expect(throws: ClientSubmission.Malformed.user) {
            try ClientSubmission(
                signedTransaction: Self.jws,
                user: String(repeating: "é", count: 256),
                environment: .production,
                bundleIDs: nil
            )
        }
    }
}

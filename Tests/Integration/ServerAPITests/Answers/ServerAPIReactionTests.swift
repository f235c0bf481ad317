import AppStore
import Outbox
import Testing

@testable import ServerAPI

/// What each answer means.
struct ServerAPIReactionTests {
    private func reaction(_ status: Int, _ body: String = "", endpoint: ServerAPIEndpoint = .transactionInfo) -> ServerAPIReaction {
        let request = ServerAPIRequest(endpoint, of: "com.example.app", in: .production, path: ["42"])
        return ServerAPIReaction(HTTPAnswer(status: status, body: Array(body.utf8)), to: request, now: ScriptedAPI.start)
    }

    private func error(_ code: Int, status: Int? = nil) -> ServerAPIReaction {
        reaction(status ?? code / 10_000, #"{"errorCode":\#(code),"errorMessage":"Apple's words."}"#)
    }

    private func refusal(_ code: Int) -> ServerAPIReaction {
        .refused(ServerAPIRefusal(code: ServerAPIErrorCode(rawValue: code), message: "Apple's words."))
    }

    @Test(arguments: [
        4_000_004, 4_000_044, 4_000_209, 4_000_225, 4_000_227, 4_030_028, 4_040_022, 4_000_006, 4_000_035, 4_000_185, 4_000_187, 4_030_004,
        4_040_001, 4_040_003, 4_040_007, 4_040_010, 4_040_019, 4_000_161, 4_030_026, 4_040_021, 4_090_001,
    ])
    func `a documented code that a repetition does not change refuses`(code: Int) {
        #expect(error(code) == refusal(code))
        #expect(ServerAPIErrorCode(rawValue: code).name != nil)
    }

    @Test(
        arguments: [
            (4_000_014, .restartFromFirstPage), (4_000_017, .restartFromFirstPage), (4_000_012, .startLater), (4_000_005, .dropRevision),
            (4_040_010, .otherEnvironment), (4_040_005, .askOnceMore), (4_000_006, .refuse), (4_999_999, .refuse),
        ] as [(Int, ServerAPIErrorCode.Advice)]
    )
    func `a refusal says what to do`(code: Int, advice: ServerAPIErrorCode.Advice) {
        #expect(error(code) == refusal(code))
        #expect(ServerAPIErrorCode(rawValue: code).advice == advice)
    }

    @Test(arguments: [4_040_002, 4_040_004, 4_040_006, 4_040_008, 4_040_009, 5_000_000, 5_000_001])
    func `what Apple calls temporary comes later`(code: Int) {
        #expect(error(code) == .later(ServerAPIDelay("apple_\(code)")))
    }

    @Test func `a code that nothing is known of refuses`() {
        #expect(error(4_000_999) == refusal(4_000_999) && ServerAPIErrorCode(rawValue: 4_000_999).name == nil)
        #expect(error(7, status: 400) == refusal(7))
    }

    @Test func `answers without a code are those of a gateway`() {
        #expect(reaction(404, "<html>") == .later(ServerAPIDelay("http_404")))
        #expect(reaction(503, "<html>") == .later(ServerAPIDelay("http_503")))
        #expect(reaction(403) == .later(ServerAPIDelay("http_403")))
        #expect(reaction(302) == .later(ServerAPIDelay("http_302")))
        #expect(reaction(400, #"{"errorCode":"4000006"}"#) == .later(ServerAPIDelay("http_400")))
    }

    @Test func `401 is about the key, and 429 about the endpoint, with a code or without`() {
        #expect(reaction(401) == .keyRefused)
        #expect(
            reaction(429) == .rateLimited(nil) && error(4_290_000) == .rateLimited(nil)
                && error(4_290_000, status: 400) == .rateLimited(nil)
        )
    }

    @Test func `an answer about another app or environment is none`() {
        let right = #"{"bundleId":"com.example.app","environment":"Production","more":1}"#
        #expect(reaction(200, right) == .answered && reaction(200, "{}") == .answered && reaction(200, #"{"bundleId":null}"#) == .answered)
        let wrong = ServerAPIReaction.later(ServerAPIDelay("answer_of_another_app"))
        #expect(reaction(200, #"{"bundleId":"com.example.other"}"#) == wrong && reaction(200, #"{"environment":"Sandbox"}"#) == wrong)
        #expect(reaction(200, #"{"environment":1}"#) == wrong)
    }

    @Test func `an answer that is no object is none, and an empty one only where the endpoint has one`() {
        let malformed = ServerAPIReaction.later(ServerAPIDelay("answer_malformed"))
        #expect(reaction(200, "[]") == malformed && reaction(200, "<html>") == malformed && reaction(200) == malformed)
        #expect(reaction(202, endpoint: .consumption) == .answered && reaction(200, endpoint: .setAppAccountToken) == .answered)
        // To repeat it could extend twice.
        #expect(reaction(200, endpoint: .extendRenewalDate) == .answered && reaction(200, "<", endpoint: .extendForAll) == .answered)
    }

    @Test func `Apple's words are kept on one line, and shortened`() throws {
        let text = #"{"errorCode":4000000,"errorMessage":"a\nb\#(String(repeating: "x", count: 300))"}"#
        let message = try #require(ErrorBody(Array(text.utf8))).message
        #expect(message.hasPrefix("abx") && message.count == 200)
    }
}

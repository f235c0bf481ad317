import AppStore
import StrictJSON
import Testing

@testable import Console

struct EventSearchTests {
    private let now = Timestamp(millisecondsSince1970: 1_700_000_000_000)

    private func search(_ text: String) throws -> EventSearch { try EventSearch(text, in: "Production", now: now) }

    @Test func `qualifiers become the conditions of a repair`() throws {
        let search = try search(
            #"type:REFUND/OTHER outcome:failed reason:"by test" app:com.example.shop env:sandbox since:2d before:2026-01-31"#
        )
        #expect(
            search.filter == [
                "notification_type": "REFUND", "subtype": "OTHER", "result": "failed", "reason": "by test", "bundle_id": "com.example.shop",
                "environment": "Sandbox", "received_from": "2023-11-12T22:13:20.000Z", "received_before": "2026-01-31T00:00:00.000Z",
            ]
        )
        #expect(search.canBeRepaired)
    }

    @Test(arguments: [("outcome:failed", "Production"), ("outcome:failed env:sandbox", "Sandbox"), ("outcome:failed env:any", nil)])
    func `the chosen environment holds where the search names none`(_ text: String, _ environment: String?) throws {
        let search = try search(text)
        #expect(search.filter.word("environment") == environment && search.canBeRepaired)
    }

    @Test(arguments: ["env:any", "contract:7", "uuid:7e3fb20b-4cdb-47cc-936d-99d65f608138", "source:history_v2", "outcome:waiting", ""])
    func `what no repair can ask for is searched only`(_ text: String) throws {
        #expect(try !search(text).canBeRepaired)
    }

    @Test(arguments: [
        ("kind:REFUND", "“kind:”"), ("outcome:lost", "“lost”"), ("since:soon", "“soon”"), ("type:", "“type:”"), ("4711", "contract:4711"),
        ("REFUND", "“REFUND”"), ("type:A type:B", "twice"), ("uuid:7", "“7”"), ("env:xcode", "“xcode”"), ("outcome:waiting app:a", "alone"),
    ])
    func `what is wrong is named`(_ text: String, _ words: String) {
        let fault = #expect(throws: EventSearch.Fault.self) { _ = try search(text) }
        #expect(fault?.description.contains(words) == true, "\(fault?.description ?? "")")
    }
}

import HTTPServingTesting
import Postgres
import StrictJSON
import Testing

@testable import Console

struct ReportTests {
    @Test(arguments: ["subscriptions", "mrr", "movement", "churn", "trials", "refunds", "renewal_status", "retention"])
    func `a report shows the rows of its function, and saves them`(_ name: String) async throws {
        try await ConsoleScene.run(Story.customer) { scene in
            let page = try await scene.get("/reports?report=\(name)", as: .viewer)
            #expect(page.status == 200)
            #expect(page.body.utf8.count <= 40_960)
            let file = try await scene.get("/reports/file?report=\(name)", as: .viewer)
            #expect(file.headers["content-type"] == "text/csv; charset=utf-8")
            let lines = file.body.split(separator: "\r\n").count
            let title = Report.Kind(rawValue: name)?.title ?? ""
            #expect(max(lines - 1, 0) == (page.table(title)?.count ?? 0))
        }
    }

    @Test func `active subscriptions of today are those of SQL`() async throws {
        try await ConsoleScene.run(Story.customer) { scene in
            let page = try await scene.get("/reports?report=subscriptions", as: .viewer)
            let today = try await scene.value("SELECT concat_ws('|', day, subscriptions) FROM appstore_reports.active_subscriptions()")
            #expect(page.table("Active subscriptions")?.last?.joined(separator: "|") == today)
        }
    }

    @Test(arguments: [("report=lost", 404), ("by=colour", 400), ("every=minute", 400), ("first=soon", 400)])
    func `what no report knows is refused in words`(_ query: String, _ status: Int) async throws {
        try await ConsoleScene.run { scene in
            let answer = try await scene.get("/reports?\(query)", as: .viewer)
            #expect(answer.status == status)
        }
    }

    @Test func `a file quotes, and no text of it is a formula`() throws {
        let report = try Report(PageQuery())
        let rows: [JSONObject] = [["a": "=1+1", "b": "x,\"y\"", "c": 7, "d": .null]]
        #expect(ReportTable(report: report, rows: rows).csv == "a,b,c,d\r\n'=1+1,\"x,\"\"y\"\"\",7,\r\n")
        // An accent and a line feed after a sign make it another Character.
        let hidden: [JSONObject] = [["a": "=\u{FE0F}1", "b": "\"\u{301}", "c": "x\ny", "d": " =1"]]
        #expect(
            ReportTable(report: report, rows: hidden).csv.utf8.elementsEqual(
                "a,b,c,d\r\n'=\u{FE0F}1,\"\"\"\u{301}\",\"x\ny\",' =1\r\n".utf8
            )
        )
    }
}

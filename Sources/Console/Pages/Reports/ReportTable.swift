import HTML
import StrictJSON

/// The rows of a report, as a table, a chart and a file.
struct ReportTable: Sendable {
    let report: Report
    let rows: [JSONObject]

    /// Rows on the page; the file has all.
    static let limit = 60
    /// Lines of a chart.
    private static let lines = 5

    private var names: [String] { rows.first?.members.map(\.name) ?? [] }

    /// The latest rows.
    var table: Markup {
        let shown = Array(rows.suffix(Self.limit))
        return Markup {
            documentTable(
                report.kind.title,
                shown,
                empty: "There is nothing in this range.",
                names.map { name in
                    let isNumber = shown.contains { if case .number? = $0[name] { true } else { false } }
                    let title = name.replacing("_", with: " ")
                    let isRatio = name.hasSuffix("_rate") || name == "retention"
                    if name == "is_incomplete" {
                        return DocumentColumn("complete") { $0.word(name) == "true" ? badge(.warning, "not yet") : badge(.good, "yes") }
                    }
                    if isRatio { return DocumentColumn(title, .number) { .text($0.percent(name).map { "\($0) %" } ?? "–") } }
                    return isNumber ? .number(title, name) : .text(title, name)
                }
            )
            if rows.count > shown.count { p { "The latest \(shown.count) of \(grouped(Int64(rows.count))) rows. The file has all." } }
        }
    }

    /// Nil where there is nothing to draw.
    var chart: Markup? {
        let places = Set(rows.compactMap(\.place)).sorted()
        guard places.count > 1, !report.kind.figures.isEmpty else { return nil }
        var lines: [(name: String, values: [String: Double])] = []
        for row in rows {
            guard let place = row.place else { continue }
            for figure in report.kind.figures {
                let name = [figure.replacing("_", with: " "), row.word("value").flatMap { $0 == "all" ? nil : $0 }, row.word("currency")]
                    .compactMap(\.self).joined(separator: " ").shortened
                let value = (row.word(figure).flatMap { Double($0) } ?? 0) * (figure.hasSuffix("_rate") ? 100 : 1)
                if let index = lines.firstIndex(where: { $0.name == name }) {
                    lines[index].values[place, default: 0] += value
                } else {
                    lines.append((name, [place: value]))
                }
            }
        }
        let highest = lines.sorted { $0.values.values.reduce(0, +) > $1.values.values.reduce(0, +) }.prefix(Self.lines)
        let unit = report.kind.figures.allSatisfy { $0.hasSuffix("_rate") } ? ", in per cent" : ""
        return Console.chart(
            title: report.kind.title + unit,
            summary: "\(report.kind.title)\(unit), from \(places[0]) to \(places[places.count - 1])",
            series: highest.map { line in ChartSeries(line.name, places.map { line.values[$0] ?? 0 }) },
            labels: places
        )
    }

    /// RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe.
    var csv: String {
        let lines = [names] + rows.map { row in names.map { Self.cell(row[$0]) } }
        return lines.map { $0.map(Self.quoted).joined(separator: ",") + "\r\n" }.joined()
    }

    private static func cell(_ value: JSONValue?) -> String {
        switch value {
        case .number(let number)?: number.text
        case .bool(let flag)?: flag ? "true" : "false"
        // By scalars: a sign that an accent follows is another Character.
        case .string(let text)?:
            text.unicodeScalars.first { !$0.properties.isWhitespace }.map { "=+-@".unicodeScalars.contains($0) } == true ? "'" + text : text
        default: ""
        }
    }

    private static func quoted(_ cell: String) -> String {
        guard cell.unicodeScalars.contains(where: { ",\"\r\n".unicodeScalars.contains($0) }) else { return cell }
        return cell.unicodeScalars.reduce(into: "\"") { quoted, scalar in
            quoted.unicodeScalars.append(scalar)
            if scalar == "\"" { quoted.unicodeScalars.append(scalar) }
        } + "\""
    }
}

extension JSONObject {
    /// The day or the beginning of the period that a row is about.
    fileprivate var place: String? { word("day") ?? word("period") }

    /// A ratio in per cent, with one digit.
    fileprivate func percent(_ name: String) -> String? {
        word(name).flatMap { Double($0) }.map { "\(($0 * 1000).rounded() / 10)" }
    }
}

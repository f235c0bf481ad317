/// One line of a chart.
struct ChartSeries: Sendable {
    let name: String
    let values: [Double]

    init(_ name: String, _ values: [Double]) {
        (self.name, self.values) = (name, values)
    }
}

/// Lines over time as inline SVG, and the numbers as a table behind them. Lines differ by their dashes, too.
///
/// - Parameters:
///   - summary: what the lines show, in a sentence, for those who do not see them.
///   - labels: the name of each place, such as its minute.
func chart(title: String, summary text: String, series: [ChartSeries], labels: [String]) -> Markup {
    let (width, height) = (640.0, 120.0)
    let highest = max(series.flatMap(\.values).max() ?? 0, 1)
    let step = labels.count > 1 ? width / Double(labels.count - 1) : width
    return section(.class("chart")) {
        h2 { title }
        svg(.viewBox("0 -4 640 128"), .role("img"), .ariaLabel(text)) {
            svgTitle { text }
            line(.length(.x1, 0), .length(.y1, height), .length(.x2, width), .length(.y2, height), .class("axis"))
            series.enumerated().map { index, series in
                polyline(
                    .class("line line\(index)"),
                    .points(
                        series.values.enumerated().map { place, value in
                            "\(rounded(Double(place) * step)),\(rounded(height - value / highest * height))"
                        }.joined(separator: " ")
                    )
                )
            }
        }
        p(.class("legend")) {
            series.enumerated().map { index, series in span(.class("key key\(index)")) { series.name } }
            " highest \(grouped(Int64(highest.rounded())))"
        }
        details {
            summary { "Show numbers" }
            dataTable(
                caption: "\(title): numbers",
                columns: [Column("Time")] + series.map { Column($0.name, .number) },
                rows: labels.enumerated().map { place, label in
                    [Markup.text(label)]
                        + series.map { Markup.text(place < $0.values.count ? grouped(Int64($0.values[place].rounded())) : "") }
                },
                empty: "No numbers."
            )
        }
    }
}

private func rounded(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

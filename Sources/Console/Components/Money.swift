package import HTML

/// A price as Apple gives it, in thousandths of the currency's unit. Thousandths that are zero are left out.
package func money(_ thousandths: Int64?, _ currency: String?) -> Markup {
    guard let thousandths else { return .text("–") }
    let magnitude = thousandths.magnitude
    var fraction = String("\(magnitude % 1000 + 1000)".dropFirst())
    if fraction.hasSuffix("0") { fraction.removeLast() }
    let sign = thousandths < 0 ? "−" : ""
    return span(.class("money")) {
        "\(sign)\(grouped(Int64(magnitude / 1000))).\(fraction) "
        bdi { currency ?? "?" }
    }
}

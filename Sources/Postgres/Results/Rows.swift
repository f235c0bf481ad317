/// The rows that a statement returned, in order. Each value stays in libpq's result until it is decoded.
package struct Rows: RandomAccessCollection, Sendable {
    private let result: ResultHandle
    private let columns: Columns
    package let count: Int
    /// The rows that the statement returned, inserted, updated or deleted, as the server counts them.
    package let affectedRows: Int

    init(_ result: ResultHandle) {
        self.result = result
        count = result.rowCount
        affectedRows = result.affectedRows
        columns = Columns(of: result)
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(position: Int) -> Row {
        precondition(position >= 0 && position < count, "row \(position) of \(count)")
        return Row(result: result, columns: columns, index: position)
    }
}

/// The names and positions of a result's columns; of equal names the first counts.
final class Columns: Sendable {
    let names: [String]
    private let positions: [String: Int]

    init(of result: ResultHandle) {
        names = (0..<result.columnCount).map(result.columnName)
        positions = Dictionary(zip(names, names.indices), uniquingKeysWith: { first, _ in first })
    }

    func position(of name: String) -> Int? { positions[name] }
}

/// The columns that a file of `statements/` names more than once, and where they are written out.
///
/// A list is `-- list NAME:` on a line, with columns and their types on the lines of comment after it. `{NAME}` stands for the columns, and
/// `{NAME: TEXT}` for TEXT of each, in which `%name` and `%type` are those of the column. Several names may stand before the colon. What is
/// written out has commas between, and as many lines as in the file, so that errors name the right one.
struct ColumnLists {
    private struct Column {
        let name: Substring
        let type: Substring
    }

    private var lists: [Substring: [Column]] = [:]

    /// - Throws: ``StatementError`` for a list that cannot be read, is there twice or is not used, and for an unknown one beside known ones.
    static func writtenOut(_ text: String) throws(StatementError) -> String {
        let lists = try ColumnLists(text)
        return lists.lists.isEmpty ? text : try lists.writeOut(text)
    }

    private init(_ text: String) throws(StatementError) {
        var name: Substring?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("-- list ") {
                let new = line.dropFirst("-- list ".count).dropLast()
                guard line.last == ":", !new.isEmpty, new.allSatisfy(Self.isOfName), lists.updateValue([], forKey: new) == nil else {
                    throw StatementError("a list is -- list NAME: with a name of its own", line: index + 1)
                }
                name = new
            } else if let list = name, line.hasPrefix("--   ") {
                for column in line.dropFirst("--   ".count).split(separator: ",") {
                    let words = column.split(separator: " ")
                    guard words.count == 2 else { throw StatementError("\(column) is no column with a type", line: index + 1) }
                    lists[list, default: []].append(Column(name: words[0], type: words[1]))
                }
            } else {
                name = nil
            }
        }
    }

    private func writeOut(_ text: String) throws(StatementError) -> String {
        var (output, rest, unused) = ("", Substring(text), Set(lists.keys))
        while let brace = rest.firstIndex(of: "{") {
            output += rest[..<brace]
            let inside = rest[brace...].dropFirst()
            let names = inside.prefix { Self.isOfName($0) || $0 == " " }
            let used = names.split(separator: " ")
            guard used.contains(where: { lists[$0] != nil }) else {
                output += "{"
                rest = inside
                continue
            }
            let line = 1 + output.count(where: \.isNewline)
            guard let end = inside.firstIndex(of: "}"), [":", "}"].contains(inside[names.endIndex]) else {
                throw StatementError("a list is written out as {NAME} or {NAME: TEXT}", line: line)
            }
            let template = names.endIndex == end ? "%name" : inside[names.endIndex..<end].dropFirst()
            output += try writtenOut(used, as: template, line: line)
            unused.subtract(used)
            rest = inside[end...].dropFirst()
        }
        if let name = unused.min() { throw StatementError("the list \(name) is not used", line: 1) }
        return output + rest
    }

    private func writtenOut(_ names: [Substring], as template: Substring, line: Int) throws(StatementError) -> String {
        var texts: [String] = []
        for name in names {
            guard let columns = lists[name] else { throw StatementError("there is no list \(name)", line: line) }
            texts += columns.map { column in
                template.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                    .replacing("%name", with: column.name).replacing("%type", with: column.type)
            }
        }
        return texts.joined(separator: ", ") + String(repeating: "\n", count: template.count(where: \.isNewline))
    }

    private static func isOfName(_ character: Character) -> Bool { character.isLetter || character.isNumber || character == "_" }
}

extension String {
    /// The name that was probably meant: the one with the fewest edits, upper and lower case being alike, if these are few for its length.
    func nearest(among names: some Sequence<String>) -> String? {
        let distances = names.map { (name: $0, edits: lowercased().edits(to: $0.lowercased())) }
        guard let best = distances.min(by: { $0.edits < $1.edits }), best.edits <= Swift.max(2, best.name.count / 5) else { return nil }
        return best.name
    }

    /// How many characters have to be inserted, removed, replaced or swapped with their neighbour.
    private func edits(to other: String) -> Int {
        let (left, right) = (Array(self), Array(other))
        var rows = [Array(0...right.count)]
        for (i, character) in left.enumerated() {
            var row = [i + 1]
            for (j, candidate) in right.enumerated() {
                var edits = Swift.min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (character == candidate ? 0 : 1))
                if i > 0, j > 0, character == right[j - 1], left[i - 1] == candidate { edits = Swift.min(edits, rows[i - 1][j - 1] + 1) }
                row.append(edits)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}

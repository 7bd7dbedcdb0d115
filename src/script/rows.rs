//! Tables of plain values: conditions, what waits, scores.

use std::rc::Rc;

use rhai::{Array, Dynamic, Map};

use super::docs::Registrar;
use super::fault::{Fault, Res};

/// A table of maps with named columns.
#[derive(Clone, Debug)]
pub struct Rows {
    columns: Rc<Vec<&'static str>>,
    rows: Rc<Vec<Map>>,
}

impl Rows {
    /// A table. Cells that are missing are empty.
    pub fn new(columns: &[&'static str], rows: impl IntoIterator<Item = Vec<(&'static str, Dynamic)>>) -> Rows {
        let map = |cells: Vec<(&'static str, Dynamic)>| {
            cells
                .into_iter()
                .map(|(key, value)| (key.into(), if value.is_unit() { "".into() } else { value }))
                .collect::<Map>()
        };
        Rows { columns: Rc::new(columns.to_vec()), rows: Rc::new(rows.into_iter().map(map).collect()) }
    }

    /// The rows.
    pub fn rows(&self) -> &[Map] {
        &self.rows
    }

    /// The table as kubectl prints tables.
    pub fn table(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|name| name.to_uppercase()).collect();
        let cells = self.rows.iter().map(|row| {
            self.columns.iter().map(|column| row.get(*column).map(ToString::to_string).unwrap_or_default()).collect()
        });
        super::show::table(&columns, cells.collect())
    }
}

impl IntoIterator for Rows {
    type Item = Map;
    type IntoIter = std::vec::IntoIter<Map>;
    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter().cloned().collect::<Vec<_>>().into_iter()
    }
}

/// Registers the type.
pub fn register(registrar: &mut Registrar<'_>) {
    registrar.engine.register_type_with_name::<Rows>("Rows");
    registrar.engine.register_iterator::<Rows>();
    registrar.engine.register_fn("to_string", |rows: &mut Rows| rows.table());
    registrar.engine.register_fn("to_debug", |rows: &mut Rows| rows.table());
    registrar.engine.register_indexer_get(|rows: &mut Rows, index: i64| -> Res<Map> { Ok(nth(rows, index)?) });
    registrar.function("Rows.len() -> int", "Number of rows.", |rows: &mut Rows| rows.rows.len() as i64);
    registrar.function("Rows.names() -> array", "The first column of every row.", |rows: &mut Rows| -> Array {
        let first = rows.columns[0];
        rows.rows.iter().map(|row| row.get(first).cloned().unwrap_or_default()).collect()
    });
    registrar.function("Rows.obj() -> array", "All rows as an array of maps.", |rows: &mut Rows| -> Array {
        rows.rows.iter().cloned().map(Dynamic::from_map).collect()
    });
}

fn nth(rows: &Rows, index: i64) -> Result<Map, Fault> {
    let at = usize::try_from(if index < 0 { index + rows.rows.len() as i64 } else { index }).ok();
    at.and_then(|at| rows.rows.get(at).cloned())
        .ok_or_else(|| Fault::script(format!("there is no row {index}: the table has {} rows", rows.rows.len())))
}
